//! What is live of accounts.

use super::Handover;
use crate::{
    fault::Fault,
    rows::{api_key, login, user},
};
use muster_model::AccountChange;
use muster_store::Loaded;

/// Reads users, logins and keys; keys that were taken back too, so that numbering goes on after them.
pub(super) fn load(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let sql = format!("SELECT {} FROM users ORDER BY id", user::COLUMNS);
    rows.hand_over(&sql, |row| Ok(Loaded::Accounts(AccountChange::User(Box::new(user::read(row)?)))))?;
    let sql = format!("SELECT {} FROM logins ORDER BY id", login::COLUMNS);
    rows.hand_over(&sql, |row| Ok(Loaded::Accounts(AccountChange::Login(login::read(row)?))))?;
    let sql = format!("SELECT {} FROM api_keys ORDER BY id", api_key::COLUMNS);
    rows.hand_over(&sql, |row| Ok(Loaded::Accounts(AccountChange::ApiKey(Box::new(api_key::read(row)?)))))
}
