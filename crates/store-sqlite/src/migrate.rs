//! Bringing the tables to the version this binary knows.

use crate::fault::Fault;
use muster_store::StoreError;
use rusqlite::{Connection, TransactionBehavior};

/// Refuses a file that a newer version wrote, or somebody else. Changes nothing.
pub(crate) fn check(connection: &Connection) -> Result<(), Fault> {
    let (found, known) = (version(connection)?, MIGRATIONS.len() as u32);
    if found > known {
        return Err(StoreError::TooNew { found, known }.into());
    }
    let objects: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if found == 0 && objects > 0 { Err(Fault::Foreign) } else { Ok(()) }
}

/// Applies what is missing, each step in a transaction of its own.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    let found = version(connection)?;
    for (version, sql) in (1u32..).zip(MIGRATIONS).skip(found as usize) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
    Ok(())
}

fn version(connection: &Connection) -> Result<u32, Fault> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Version n is made by the nth.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_tables.sql"),
    include_str!("../migrations/0002_sessions.sql"),
    include_str!("../migrations/0003_pool.sql"),
];
