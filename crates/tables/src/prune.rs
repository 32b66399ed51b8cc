//! Deleting what is old, a little at a time.

mod pool;
mod sessions;

pub use pool::Walk;

use crate::{fault::Fault, fields::Fields, id_text::TaskRange, record::row, sql::Sql};
use muster_model::{JobId, Timestamp};
use muster_store::Cutoffs;

/// Deletes a bounded number of rows of each kind; answers whether more remains.
///
/// # Errors
/// When the database fails.
pub fn prune(connection: &dyn Sql, cutoffs: &Cutoffs, walk: &mut Walk) -> Result<bool, Fault> {
    let mut more = prune_jobs(connection, cutoffs.history)?;
    more |= walk.prune(connection, cutoffs.history)?;
    more |= sessions::prune(connection, cutoffs.history)?;
    for (sql, cutoff) in [
        (OLD_NODE_EVENTS, cutoffs.history),
        (OLD_PC_LOGS, cutoffs.history),
        (OLD_ALERTS, cutoffs.history),
        (sessions::OLD_TRANSITIONS, cutoffs.history),
        (sessions::OLD_DIAGNOSTICS, cutoffs.history),
        (sessions::OLD_QUARANTINE, cutoffs.history),
        (pool::OLD_ACTS, cutoffs.history),
        (pool::OLD_LOGINS, cutoffs.history),
        (pool::OLD_API_KEYS, cutoffs.history),
        (OLD_FEED, cutoffs.history),
        (OLD_EVENT_IDS, cutoffs.report_ids),
        (OLD_KEYS, cutoffs.keys),
        (pool::OLD_KEYS, cutoffs.keys),
    ] {
        more |= connection.execute(sql, &[cutoff.into(), ROWS_MAX.into()])? >= u64::from(ROWS_MAX);
    }
    Ok(more)
}

/// Deletes closed jobs until the rows of one call are used up, each job's own row last.
fn prune_jobs(connection: &dyn Sql, cutoff: Timestamp) -> Result<bool, Fault> {
    let mut left = ROWS_MAX;
    while left > 0 {
        let Some(job) = oldest_closed(connection, cutoff)? else {
            return Ok(false);
        };
        let deleted = prune_tasks(connection, job, left)?;
        if deleted < left {
            connection.execute("DELETE FROM tasks WHERE id = ?1", &[job.to_string().as_str().into()])?;
        }
        left = left.saturating_sub(deleted + 1);
    }
    Ok(true)
}

fn oldest_closed(connection: &dyn Sql, cutoff: Timestamp) -> Result<Option<JobId>, Fault> {
    let sql = "SELECT id FROM tasks WHERE open = 0 AND completed_at < ?1 ORDER BY completed_at LIMIT 1";
    row(connection, sql, &[cutoff.into()], |row| Fields::new("tasks", row).text(0))
}

/// Deletes the first tasks of a job, with their logs.
fn prune_tasks(connection: &dyn Sql, job: JobId, limit: u32) -> Result<u32, Fault> {
    let range = TaskRange::of(job);
    let sql = "SELECT max(id) FROM \
               (SELECT id FROM task_devices WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3) AS first";
    let params = [range.from.as_str().into(), range.to.as_str().into(), limit.into()];
    let last =
        row(connection, sql, &params, |row| Fields::new("task_devices", row).text::<Option<Box<str>>>(0))?;
    // No task left: whatever logs are there belong to none.
    let last = last.flatten().unwrap_or(range.to.into());
    let params = [range.from.as_str().into(), (&*last).into()];
    connection
        .execute("DELETE FROM execution_logs WHERE task_device_id >= ?1 AND task_device_id <= ?2", &params)?;
    let deleted = connection.execute("DELETE FROM task_devices WHERE id >= ?1 AND id <= ?2", &params)?;
    Ok(u32::try_from(deleted).unwrap_or(u32::MAX))
}

/// How many rows of a kind one call deletes: a few milliseconds, so that no batch waits long.
const ROWS_MAX: u32 = 500;

// Rows of these two were added in the order of time, so only the first need be looked at: no index.
const OLD_NODE_EVENTS: &str = "DELETE FROM node_events WHERE id IN \
     (SELECT id FROM (SELECT id, at FROM node_events ORDER BY id LIMIT ?2) AS first WHERE at < ?1)";
const OLD_PC_LOGS: &str = "DELETE FROM pc_logs WHERE id IN \
     (SELECT id FROM (SELECT id, at FROM pc_logs ORDER BY id LIMIT ?2) AS first WHERE at < ?1)";

// Only from the front, or subscribers would meet a gap. The newest row stays: it says how far the feed
// was numbered.
const OLD_FEED: &str = "DELETE FROM feed \
     WHERE first_seq IN (SELECT first_seq FROM feed ORDER BY first_seq LIMIT ?2) \
     AND first_seq < (SELECT max(first_seq) FROM feed) \
     AND first_seq < coalesce((SELECT min(first_seq) FROM \
     (SELECT first_seq, at FROM feed ORDER BY first_seq LIMIT ?2) AS first WHERE at >= ?1), 9223372036854775807)";

const OLD_ALERTS: &str = "DELETE FROM alerts WHERE id IN \
     (SELECT id FROM alerts WHERE at < ?1 ORDER BY at LIMIT ?2)";
const OLD_EVENT_IDS: &str = "DELETE FROM event_ids WHERE key IN \
     (SELECT key FROM event_ids WHERE at < ?1 ORDER BY at LIMIT ?2)";
const OLD_KEYS: &str = "DELETE FROM idempotency_keys WHERE key IN \
     (SELECT key FROM idempotency_keys WHERE at < ?1 ORDER BY at LIMIT ?2)";
