//! Deleting jobs of the pool that ended long ago, and what is old of accounts.

use crate::{
    fault::Fault,
    fields::Fields,
    record::rows,
    sql::{Cells, Sql},
};
use muster_model::{AssignmentId, Timestamp};

/// How far jobs were looked at: ids are in the order of age, and there is no index to find the old ones by.
///
/// Each call goes on where the one before stopped, up to the first job that is too young to have ended long ago; then
/// it begins anew. So only those are looked at twice that were open at the moment of the cutoff.
#[derive(Debug, Default)]
pub struct Walk {
    after: i64,
}

/// Jobs that stand together and are all to be deleted: the first and the last.
struct Run {
    first: i64,
    last: i64,
}

/// A job, as the walk sees it.
struct Passed {
    id: i64,
    /// Too young to have ended before the cutoff.
    is_young: bool,
    /// Ended before the cutoff.
    is_old: bool,
}

impl Walk {
    /// Deletes a bounded number of jobs, with all that is theirs; answers whether more may remain.
    pub(super) fn prune(&mut self, connection: &dyn Sql, cutoff: Timestamp) -> Result<bool, Fault> {
        let mut runs = Vec::new();
        let more = self.look(connection, cutoff, &mut runs)?;
        self.after = if more { self.after } else { 0 };
        runs.iter().try_for_each(|run| delete(connection, run))?;
        Ok(more)
    }

    /// Finds the next old jobs; answers whether there may be more behind them.
    fn look(&mut self, connection: &dyn Sql, cutoff: Timestamp, runs: &mut Vec<Run>) -> Result<bool, Fault> {
        let (mut left, mut ask, mut goes_on) = (JOBS_MAX, JOBS_FIRST, false);
        while left > 0 {
            ask = left.min(ask);
            let params = [self.after.into(), cutoff.into(), ask.into()];
            let jobs = rows(connection, JOBS, &params, read)?;
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

fn read(row: &dyn Cells) -> Result<Passed, Fault> {
    let fields = Fields::new("pool_jobs", row);
    Ok(Passed { id: fields.number(0)?, is_young: fields.number(1)?, is_old: fields.number(2)? })
}

fn delete(connection: &dyn Sql, run: &Run) -> Result<(), Fault> {
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

/// Each job with whether it is too young to have ended before the cutoff, and whether it did.
const JOBS: &str = "SELECT j.id, CAST(CASE WHEN j.created_at >= ?2 THEN 1 ELSE 0 END AS BIGINT), \
     CAST(CASE WHEN e.finished_at < ?2 THEN 1 ELSE 0 END AS BIGINT) \
     FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id AND e.id > ?1 WHERE j.id > ?1 ORDER BY j.id LIMIT ?3";

/// How many jobs one call looks at first; mostly few are old.
const JOBS_FIRST: u32 = 32;

/// How many jobs one call looks at: a few milliseconds, so that no batch waits long.
const JOBS_MAX: u32 = 2_000;

/// By their moments: SQLite would look for pairs of client and key among all keys of the client. Those of one moment
/// go together, so it may be a few more.
pub(crate) const OLD_KEYS: &str = "DELETE FROM pool_keys WHERE at <= \
     (SELECT max(at) FROM (SELECT at FROM pool_keys WHERE at < ?1 ORDER BY at LIMIT ?2) AS first)";
/// The key with the largest number stays: numbering goes on from it.
pub(crate) const OLD_API_KEYS: &str = "DELETE FROM api_keys WHERE id IN \
     (SELECT id FROM api_keys WHERE revoked_at < ?1 AND id < (SELECT max(id) FROM api_keys) ORDER BY id LIMIT ?2)";
pub(crate) const OLD_LOGINS: &str = "DELETE FROM logins WHERE id IN \
     (SELECT id FROM logins WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)";

// Rows were added in the order of time, so only the first need be looked at: no index.
pub(crate) const OLD_ACTS: &str = "DELETE FROM audit_log WHERE id IN \
     (SELECT id FROM (SELECT id, at FROM audit_log ORDER BY id LIMIT ?2) AS first WHERE at < ?1)";
