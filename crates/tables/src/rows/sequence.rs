//! Rows of `meta` that say how far something was numbered; they outlive what was.

use super::{integer, one, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Sink, Sql},
};
use muster_model::PoolCounters;

/// How far jobs were numbered.
pub(crate) const JOBS: &str = "job_seq";

/// How far sessions were numbered.
pub(crate) const SESSIONS: &str = "session_seq";

/// The largest number given so far.
pub(crate) fn largest(connection: &dyn Sql, key: &str) -> Result<u64, Fault> {
    let sql = "SELECT key, value FROM meta WHERE key = ?1";
    one(connection, sql, &[key.into()], |row| Fields::new("meta", row).number(1))?
        .ok_or_else(|| Fault::corrupt(format!("meta {key}: missing")))
}

/// Notes a number that was given, if it is the largest.
pub(crate) fn raise(sink: &mut dyn Sink, key: &str, seq: Option<u64>) -> Result<(), Fault> {
    seq.map_or(Ok(()), |seq| put_one(sink, &RAISE, &[key.into(), integer(seq)?.into()]))
}

/// How far the pool was numbered, and from where on there may be live jobs.
pub(crate) fn pool(connection: &dyn Sql) -> Result<PoolCounters, Fault> {
    Ok(PoolCounters {
        next_worker: largest(connection, POOL_NEXT_WORKER)?,
        next_job: largest(connection, POOL_NEXT_JOB)?,
        oldest_open: largest(connection, POOL_OLDEST_OPEN)?,
    })
}

/// Writes these down as they are.
pub(crate) fn write_pool(sink: &mut dyn Sink, counters: &PoolCounters) -> Result<(), Fault> {
    let all = [
        (POOL_NEXT_WORKER, counters.next_worker),
        (POOL_NEXT_JOB, counters.next_job),
        (POOL_OLDEST_OPEN, counters.oldest_open),
    ];
    sink.put(&PUT, all.len(), &mut |n, row| {
        let (key, value) = all[n];
        row.values(&[key.into(), integer(value)?.into()]);
        Ok(())
    })
}

/// The table.
pub(crate) const TABLE: TableShape =
    TableShape { name: "meta", columns: &[text("key"), number("value")], key: &["key"], numbered: false };

static PUT: Put = TABLE.put(Update::Whole);

static RAISE: Put = TABLE.put(Update::Raise);

const POOL_NEXT_WORKER: &str = "pool_next_worker";
const POOL_NEXT_JOB: &str = "pool_next_job";
const POOL_OLDEST_OPEN: &str = "pool_oldest_open";
