//! Bringing the tables to the version this binary knows.

use crate::fault::Fault;
use muster_store::StoreError;
use rusqlite::{Connection, TransactionBehavior};

/// Applies what is missing, each step in a transaction of its own.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = MIGRATIONS.len() as u32;
    if found > known {
        return Err(StoreError::TooNew { found, known }.into());
    }
    for (version, sql) in (1u32..).zip(MIGRATIONS).skip(found as usize) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Version n is made by the nth.
const MIGRATIONS: &[&str] = &[include_str!("../migrations/0001_tables.sql")];
