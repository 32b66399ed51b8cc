//! Deleting what is old, a little at a time.

use crate::{
    id_text::TaskRange,
    record::{row, rows},
    rows::frames::delete_session,
    sql::{Cells, Fault, Fields, Sql, Value},
};
use muster_model::{AssignmentId, JobId, Millis, SessionId, Timestamp};
use muster_store::Cutoffs;

/// Deletes a bounded number of rows of each kind; answers whether more remains.
pub fn prune(connection: &dyn Sql, cutoffs: &Cutoffs, walk: &mut Walk) -> Result<bool, Fault> {
    let mut more = prune_jobs(connection, cutoffs.history)?;
    more |= walk.jobs.prune(connection, cutoffs.history)?;
    more |= walk.ids.prune(connection, cutoffs.report_ids)?;
    more |= prune_sessions(connection, cutoffs.history)?;
    for (sql, cutoff) in [
        (OLD_NODE_EVENTS, cutoffs.history),
        (OLD_PC_LOGS, cutoffs.history),
        (OLD_ALERTS, cutoffs.history),
        (OLD_TRANSITIONS, cutoffs.history),
        (OLD_DIAGNOSTICS, cutoffs.history),
        (OLD_QUARANTINE, cutoffs.history),
        (OLD_ACTS, cutoffs.history),
        (OLD_LOGINS, cutoffs.history),
        (OLD_API_KEYS, cutoffs.history),
        (OLD_FEED, cutoffs.history),
        (OLD_KEYS, cutoffs.keys),
        (OLD_POOL_KEYS, cutoffs.keys),
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

/// Deletes the first tasks of a job.
fn prune_tasks(connection: &dyn Sql, job: JobId, limit: u32) -> Result<u32, Fault> {
    let range = TaskRange::of(job);
    let sql = "SELECT max(id) FROM \
               (SELECT id FROM task_devices WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3) AS first";
    let params = [range.from.as_str().into(), range.to.as_str().into(), limit.into()];
    let last =
        row(connection, sql, &params, |row| Fields::new("task_devices", row).text::<Option<Box<str>>>(0))?;
    let Some(last) = last.flatten() else {
        return Ok(0);
    };
    let params = [range.from.as_str().into(), (&*last).into()];
    let deleted = connection.execute("DELETE FROM task_devices WHERE id >= ?1 AND id <= ?2", &params)?;
    Ok(u32::try_from(deleted).unwrap_or(u32::MAX))
}

/// Deletes closed sessions until the rows of one call are used up, each session's own row last.
///
/// Their grants go with them: that no id is granted twice is the farm's row's to say.
fn prune_sessions(connection: &dyn Sql, cutoff: Timestamp) -> Result<bool, Fault> {
    let mut left = i64::from(ROWS_MAX);
    while left > 0 {
        let Some(id) = oldest_closed_session(connection, cutoff)? else {
            return Ok(false);
        };
        for sql in [OLD_TASKS, OLD_REPLAYS, OLD_CHUNKS] {
            let deleted = connection.execute(sql, &[id.as_str().into(), left.into()])?;
            left -= i64::try_from(deleted).unwrap_or(left);
        }
        if left > 0 {
            delete_session(connection, &id)?;
            left -= 1;
        }
    }
    Ok(true)
}

fn oldest_closed_session(connection: &dyn Sql, cutoff: Timestamp) -> Result<Option<SessionId>, Fault> {
    let sql = "SELECT id FROM sim_sessions WHERE open = 0 AND ended_at < ?1 ORDER BY ended_at LIMIT 1";
    row(connection, sql, &[cutoff.into()], |row| Fields::new("sim_sessions", row).text(0))
}

/// Positions of the scans for rows that no index finds by their age. Each call goes on where the one before stopped.
#[derive(Debug, Default)]
pub struct Walk {
    jobs: JobWalk,
    ids: ReportIdWalk,
}

/// Scan for old ids of reports, in the order of their keys.
///
/// Ids that sort by time stand together when they are old; others are anywhere, so a pass looks at the whole table. An
/// index by age would be written with every report, only to be read here.
#[derive(Debug, Default)]
struct ReportIdWalk {
    /// Last key that was looked at; `None`: no pass is under way.
    after: Option<Vec<u8>>,
    /// Cutoff with which the last pass began.
    begun: Option<Timestamp>,
}

impl ReportIdWalk {
    /// Deletes the old ones among a bounded number of ids; answers whether the pass goes on.
    fn prune(&mut self, connection: &dyn Sql, cutoff: Timestamp) -> Result<bool, Fault> {
        let after = match self.after.take() {
            Some(after) => after,
            None if self.begun.is_some_and(|begun| cutoff < begun + PASS_EVERY) => return Ok(false),
            None => {
                self.begun = Some(cutoff);
                Vec::new()
            }
        };
        let last = row(connection, LAST_ID, &[after.as_slice().into(), (IDS_MAX - 1).into()], read_key)?;
        if let Some(last) = &last {
            connection.execute(OLD_IDS, &[after.as_slice().into(), cutoff.into(), last.as_slice().into()])?;
        } else {
            connection.execute(OLD_IDS_TO_THE_END, &[after.as_slice().into(), cutoff.into()])?;
        }
        self.after = last;
        Ok(self.after.is_some())
    }
}

fn read_key(row: &dyn Cells) -> Result<Vec<u8>, Fault> {
    match row.cell(0)? {
        Value::Blob(key) => Ok(key.to_vec()),
        other => Err(Fault::corrupt(format!("event_ids: key = {other:?}"))),
    }
}

/// Scan for old jobs: ids are in the order of age.
///
/// A pass ends at the first job that is too young to have ended long ago; then it begins anew. So only those are looked
/// at twice that were open at the moment of the cutoff.
#[derive(Debug, Default)]
struct JobWalk {
    after: i64,
}

/// Jobs that stand together and are all to be deleted: the first and the last.
struct Run {
    first: i64,
    last: i64,
}

/// A job, as the walk sees it.
struct ScannedJob {
    id: i64,
    /// Too young to have ended before the cutoff.
    is_young: bool,
    /// Ended before the cutoff.
    is_old: bool,
}

impl JobWalk {
    /// Deletes a bounded number of jobs, with all that is theirs; answers whether more may remain.
    fn prune(&mut self, connection: &dyn Sql, cutoff: Timestamp) -> Result<bool, Fault> {
        let mut runs = Vec::new();
        let more = self.look(connection, cutoff, &mut runs)?;
        self.after = if more { self.after } else { 0 };
        runs.iter().try_for_each(|run| delete_jobs(connection, run))?;
        Ok(more)
    }

    /// Finds the next old jobs; answers whether there may be more behind them.
    fn look(&mut self, connection: &dyn Sql, cutoff: Timestamp, runs: &mut Vec<Run>) -> Result<bool, Fault> {
        let (mut left, mut ask, mut goes_on) = (JOBS_MAX, JOBS_FIRST, false);
        while left > 0 {
            ask = left.min(ask);
            let params = [self.after.into(), cutoff.into(), ask.into()];
            let jobs = rows(connection, OLD_POOL_JOBS, &params, read_scanned)?;
            for job in &jobs {
                if job.is_young {
                    return Ok(false);
                }
                self.after = job.id;
                match runs.last_mut() {
                    Some(run) if job.is_old && goes_on => run.last = job.id,
                    _ if job.is_old => runs.push(Run { first: job.id, last: job.id }),
                    _ => {}
                }
                goes_on = job.is_old;
            }
            if jobs.len() < ask as usize {
                return Ok(false);
            }
            (left, ask) = (left - ask, ask * 4);
        }
        Ok(true)
    }
}

fn read_scanned(row: &dyn Cells) -> Result<ScannedJob, Fault> {
    let fields = Fields::new("pool_jobs", row);
    Ok(ScannedJob { id: fields.number(0)?, is_young: fields.number(1)?, is_old: fields.number(2)? })
}

fn delete_jobs(connection: &dyn Sql, run: &Run) -> Result<(), Fault> {
    let per_job = i64::from(AssignmentId::PER_JOB_MAX) + 1;
    for (sql, from, to) in [
        (
            "DELETE FROM pool_assignments WHERE id >= ?1 AND id < ?2",
            run.first * per_job,
            (run.last + 1) * per_job,
        ),
        ("DELETE FROM pool_ends WHERE id >= ?1 AND id < ?2", run.first, run.last + 1),
        ("DELETE FROM pool_jobs WHERE id >= ?1 AND id < ?2", run.first, run.last + 1),
    ] {
        connection.execute(sql, &[from.into(), to.into()])?;
    }
    Ok(())
}

/// Rows of a kind that one call deletes: a few milliseconds, so that no batch waits long.
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
const OLD_KEYS: &str = "DELETE FROM idempotency_keys WHERE key IN \
     (SELECT key FROM idempotency_keys WHERE at < ?1 ORDER BY at LIMIT ?2)";

const OLD_TASKS: &str = "DELETE FROM sim_tasks WHERE session_id = ?1 AND start_frame IN \
     (SELECT start_frame FROM sim_tasks WHERE session_id = ?1 ORDER BY start_frame LIMIT ?2)";
const OLD_REPLAYS: &str = "DELETE FROM sim_replays WHERE session_id = ?1 AND new_chunk_id IN \
     (SELECT new_chunk_id FROM sim_replays WHERE session_id = ?1 ORDER BY new_chunk_id LIMIT ?2)";
const OLD_CHUNKS: &str = "DELETE FROM sim_chunks WHERE chunk_id IN \
     (SELECT chunk_id FROM sim_chunks WHERE session_id = ?1 ORDER BY chunk_id LIMIT ?2)";

// Rows of these two were added in the order of time, so only the first need be looked at: no index.
const OLD_TRANSITIONS: &str = "DELETE FROM sim_transitions WHERE id IN \
     (SELECT id FROM (SELECT id, at FROM sim_transitions ORDER BY id LIMIT ?2) AS first WHERE at < ?1)";
const OLD_DIAGNOSTICS: &str = "DELETE FROM sim_diagnostics WHERE id IN \
     (SELECT id FROM (SELECT id, at FROM sim_diagnostics ORDER BY id LIMIT ?2) AS first WHERE at < ?1)";

/// An entry that nobody has looked at stays, unless there is nothing to look at.
const OLD_QUARANTINE: &str = "DELETE FROM sim_quarantine WHERE id IN \
     (SELECT id FROM sim_quarantine WHERE (confirmed IS NOT NULL OR (moved = 1 AND files = 0)) AND at < ?1 \
      ORDER BY at LIMIT ?2)";

/// Each job with whether it is too young to have ended before the cutoff, and whether it did.
const OLD_POOL_JOBS: &str = "SELECT j.id, CAST(CASE WHEN j.created_at >= ?2 THEN 1 ELSE 0 END AS BIGINT), \
     CAST(CASE WHEN e.finished_at < ?2 THEN 1 ELSE 0 END AS BIGINT) \
     FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id AND e.id > ?1 WHERE j.id > ?1 ORDER BY j.id LIMIT ?3";

/// The last key of the next ids, if there are so many.
const LAST_ID: &str = "SELECT key FROM event_ids WHERE key > ?1 ORDER BY key LIMIT 1 OFFSET ?2";
const OLD_IDS: &str = "DELETE FROM event_ids WHERE key > ?1 AND at < ?2 AND key <= ?3";
const OLD_IDS_TO_THE_END: &str = "DELETE FROM event_ids WHERE key > ?1 AND at < ?2";

/// Ids that one call looks at: a few milliseconds, so that no batch waits long.
const IDS_MAX: u32 = 2_000;

/// Time between the beginnings of two passes over all ids: an id is kept so much longer at most, where a pass does not
/// take longer itself.
const PASS_EVERY: Millis = Millis::from_secs(3_600);

/// Jobs that one call looks at first; mostly few are old.
const JOBS_FIRST: u32 = 32;

/// Jobs that one call looks at: a few milliseconds, so that no batch waits long.
const JOBS_MAX: u32 = 2_000;

/// By their moments: SQLite would look for pairs of client and key among all keys of the client. Those of one moment
/// go together, so it may be a few more.
const OLD_POOL_KEYS: &str = "DELETE FROM pool_keys WHERE at <= \
     (SELECT max(at) FROM (SELECT at FROM pool_keys WHERE at < ?1 ORDER BY at LIMIT ?2) AS first)";
/// The key with the largest number stays: numbering goes on from it.
const OLD_API_KEYS: &str = "DELETE FROM api_keys WHERE id IN \
     (SELECT id FROM api_keys WHERE revoked_at < ?1 AND id < (SELECT max(id) FROM api_keys) ORDER BY id LIMIT ?2)";
const OLD_LOGINS: &str = "DELETE FROM logins WHERE id IN \
     (SELECT id FROM logins WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)";

// Rows were added in the order of time, so only the first need be looked at: no index.
const OLD_ACTS: &str = "DELETE FROM audit_log WHERE id IN \
     (SELECT id FROM (SELECT id, at FROM audit_log ORDER BY id LIMIT ?2) AS first WHERE at < ?1)";
