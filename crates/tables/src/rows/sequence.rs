//! Rows of `meta` that say how far something was numbered; they outlive what was.

use crate::{
    column::integer,
    record::{TableRecord as _, put_values, record, table, write_all},
    shape::{Put, Update},
    sql::{Fault, Sink, Sql},
};
use muster_model::PoolCounters;

/// Counter of jobs.
pub(crate) const JOBS: &str = "job_seq";

/// Counter of sessions.
pub(crate) const SESSIONS: &str = "session_seq";

/// A number under its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    key: Box<str>,
    value: u64,
}

table! {
    Counter in "meta", key ["key"], put Whole {
        key: Text("key"),
        value: Number("value"),
    }
}

/// The largest number given so far.
pub(crate) fn largest(connection: &dyn Sql, key: &str) -> Result<u64, Fault> {
    let counter: Option<Counter> = record(connection, "WHERE key = ?1", &[key.into()])?;
    counter.map(|counter| counter.value).ok_or_else(|| Fault::corrupt(format!("meta {key}: missing")))
}

/// Notes a number that was given, if it is the largest.
pub(crate) fn raise(sink: &mut dyn Sink, key: &str, seq: Option<u64>) -> Result<(), Fault> {
    static RAISE: Put = Counter::TABLE.put_first(2, Update::Raise);
    seq.map_or(Ok(()), |seq| put_values(sink, &RAISE, &[key.into(), integer(seq)?.into()]))
}

/// Reads the counters of the pool, and the first job that may be live.
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
    let all = all.map(|(key, value)| Counter { key: key.into(), value });
    write_all(sink, &all.each_ref())
}

const POOL_NEXT_WORKER: &str = "pool_next_worker";
const POOL_NEXT_JOB: &str = "pool_next_job";
const POOL_OLDEST_OPEN: &str = "pool_oldest_open";
