//! The changes of accounts in a batch.

use crate::{
    fault::Fault,
    rows::{api_key, audit, login, user},
    sql::Sink,
};
use muster_model::AccountChange;

/// Writes a change at once: there are never many.
pub(super) fn write(sink: &mut dyn Sink, change: &AccountChange) -> Result<(), Fault> {
    match change {
        AccountChange::User(record) => user::write(sink, record),
        AccountChange::Login(record) => login::write(sink, record),
        AccountChange::LoginGone(id) => login::delete(sink, *id),
        AccountChange::ApiKey(record) => api_key::write(sink, record),
        AccountChange::Audit(record) => audit::write(sink, record),
    }
}
