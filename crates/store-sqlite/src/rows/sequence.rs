//! Rows of `meta` that say how far something was numbered; they outlive what was.

use super::{integer, one};
use crate::{fault::Fault, fields::Fields};
use muster_model::PoolCounters;
use rusqlite::{Connection, params};

/// How far jobs were numbered.
pub(crate) const JOBS: &str = "job_seq";

/// How far sessions were numbered.
pub(crate) const SESSIONS: &str = "session_seq";

/// The largest number given so far.
pub(crate) fn largest(connection: &Connection, key: &str) -> Result<u64, Fault> {
    let sql = "SELECT key, value FROM meta WHERE key = ?1";
    one(connection, sql, [key], |row| Fields::new("meta", row).number(1))?
        .ok_or_else(|| Fault::corrupt(format!("meta {key}: missing")))
}

/// Notes a number that was given, if it is the largest.
pub(crate) fn raise(connection: &Connection, key: &str, seq: Option<u64>) -> Result<(), Fault> {
    if let Some(seq) = seq {
        connection
            .prepare_cached("UPDATE meta SET value = ?2 WHERE key = ?1 AND value < ?2")?
            .execute(params![key, integer(seq)?])?;
    }
    Ok(())
}

/// How far the pool was numbered, and from where on there may be live jobs.
pub(crate) fn pool(connection: &Connection) -> Result<PoolCounters, Fault> {
    Ok(PoolCounters {
        next_worker: largest(connection, POOL_NEXT_WORKER)?,
        next_job: largest(connection, POOL_NEXT_JOB)?,
        oldest_open: largest(connection, POOL_OLDEST_OPEN)?,
    })
}

/// Writes these down as they are.
pub(crate) fn write_pool(connection: &Connection, counters: &PoolCounters) -> Result<(), Fault> {
    let mut statement =
        connection.prepare_cached("UPDATE meta SET value = ?2 WHERE key = ?1 AND value <> ?2")?;
    for (key, value) in [
        (POOL_NEXT_WORKER, counters.next_worker),
        (POOL_NEXT_JOB, counters.next_job),
        (POOL_OLDEST_OPEN, counters.oldest_open),
    ] {
        statement.execute(params![key, integer(value)?])?;
    }
    Ok(())
}

const POOL_NEXT_WORKER: &str = "pool_next_worker";
const POOL_NEXT_JOB: &str = "pool_next_job";
const POOL_OLDEST_OPEN: &str = "pool_oldest_open";
