//! What is live of accounts.

use crate::{
    fault::Fault,
    rows::{api_key, each, login, user},
};
use muster_model::AccountChange;
use muster_store::Loaded;
use rusqlite::Connection;

/// Reads users, logins and keys; keys that were taken back too, so that numbering goes on after them.
pub(crate) fn load(connection: &Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    let mut accounts = |change| sink(Loaded::Accounts(change));
    each(connection, &format!("SELECT {} FROM users ORDER BY id", user::COLUMNS), [], |row| {
        accounts(AccountChange::User(Box::new(user::read(row)?)));
        Ok(())
    })?;
    each(connection, &format!("SELECT {} FROM logins ORDER BY id", login::COLUMNS), [], |row| {
        accounts(AccountChange::Login(login::read(row)?));
        Ok(())
    })?;
    each(connection, &format!("SELECT {} FROM api_keys ORDER BY id", api_key::COLUMNS), [], |row| {
        accounts(AccountChange::ApiKey(Box::new(api_key::read(row)?)));
        Ok(())
    })
}
