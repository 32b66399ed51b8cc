//! Bringing the tables to the version this binary knows.

mod adopt;
mod fold;
mod moments;

use crate::fault::Fault;
use muster_store::StoreError;
use rusqlite::{Connection, TransactionBehavior};

/// Refuses a file that a newer version wrote, or somebody else. Changes nothing.
pub(crate) fn check(connection: &Connection) -> Result<(), Fault> {
    let (found, known) = (version(connection)?, SCHEMA_VERSION);
    if found > known {
        return Err(StoreError::TooNew { found, known }.into());
    }
    let objects: u32 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if found == 0 && objects > 0 && !adopt::can_be_adopted(connection)? {
        return Err(Fault::Foreign);
    }
    Ok(())
}

/// Applies what is missing, all of it or nothing.
pub(crate) fn migrate(connection: &mut Connection) -> Result<(), Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&transaction)?;
    let adopting = found < WORKERS_SINCE && adopt::set_aside(&transaction)?;
    if adopting && found == 0 {
        adopt::rename_others(&transaction)?;
    }
    for (version, sql) in (1u32..).zip(MIGRATIONS).skip(found as usize) {
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", version)?;
    }
    if adopting {
        adopt::take_over(&transaction)?;
    }
    fold::fold(&transaction)?;
    transaction.commit()?;
    Ok(())
}

pub(crate) fn version(connection: &Connection) -> Result<u32, Fault> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// The columns of a table; none where there is no such table.
fn columns(connection: &Connection, table: &str) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo(?1)")?;
    let names = statement.query_map([table], |row| row.get(0))?;
    names.collect::<Result<_, _>>().map_err(Fault::from)
}

/// The version of the tables that this binary makes and knows.
pub const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// Version n is made by the nth.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_tables.sql"),
    include_str!("../migrations/0002_sessions.sql"),
    include_str!("../migrations/0003_pool.sql"),
    include_str!("../migrations/0004_schedules.sql"),
    concat!(include_str!("../migrations/0005_outcomes.sql"), include_str!("../migrations/0005_votes.sql")),
];

/// The version from which on table `workers` is ours.
const WORKERS_SINCE: u32 = 3;
