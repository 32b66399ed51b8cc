//! The changes of accounts in a batch.

use crate::{
    fault::Fault,
    rows::{api_key, audit, login, user},
};
use muster_model::AccountChange;
use rusqlite::Connection;

/// Writes a change at once: there are never many.
pub(crate) fn write(connection: &Connection, change: &AccountChange) -> Result<(), Fault> {
    match change {
        AccountChange::User(record) => user::write(connection, record),
        AccountChange::Login(record) => login::write(connection, record),
        AccountChange::LoginGone(id) => login::delete(connection, *id),
        AccountChange::ApiKey(record) => api_key::write(connection, record),
        AccountChange::Audit(record) => audit::write(connection, record),
    }
}
