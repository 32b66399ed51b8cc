//! Rows of `meta` that say how far something was numbered; they outlive what was.

use super::{integer, one};
use crate::{fault::Fault, fields::Fields};
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
