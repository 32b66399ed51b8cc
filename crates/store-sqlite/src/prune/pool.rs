//! Deleting jobs of the pool that ended long ago, and what is old of accounts.

use crate::{fault::Fault, fields::Fields};
use muster_model::{AssignmentId, Timestamp};
use rusqlite::{Connection, params};

/// How far jobs were looked at: ids are in the order of age, and there is no index to find the old ones by.
///
/// Each call goes on where the one before stopped, up to the first job that is too young to have ended long ago; then
/// it begins anew. So only those are looked at twice that were open at the moment of the cutoff.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    after: i64,
}

/// Jobs that stand together and are all to be deleted: the first and the last.
struct Run {
    first: i64,
    last: i64,
}

impl Walk {
    /// Deletes a bounded number of jobs, with all that is theirs; answers whether more may remain.
    pub(crate) fn prune(&mut self, connection: &Connection, cutoff: Timestamp) -> Result<bool, Fault> {
        let mut runs = Vec::new();
        let more = self.look(connection, cutoff, &mut runs)?;
        runs.iter().try_for_each(|run| delete(connection, run))?;
        Ok(more)
    }

    /// Finds the next old jobs; answers whether there may be more behind them.
    fn look(
        &mut self,
        connection: &Connection,
        cutoff: Timestamp,
        runs: &mut Vec<Run>,
    ) -> Result<bool, Fault> {
        let mut statement = connection.prepare_cached(JOBS)?;
        let mut rows = statement.query(params![self.after, cutoff.0, JOBS_MAX])?;
        let (mut looked_at, mut goes_on) = (0, false);
        while let Some(row) = rows.next()? {
            let fields = Fields::new("pool_jobs", row);
            if fields.flag(1)? {
                break;
            }
            (looked_at, self.after) = (looked_at + 1, fields.number(0)?);
            let is_old = fields.flag(2)?;
            match runs.last_mut() {
                Some(run) if is_old && goes_on => run.last = self.after,
                _ if is_old => runs.push(Run { first: self.after, last: self.after }),
                _ => {}
            }
            goes_on = is_old;
        }
        let more = looked_at == JOBS_MAX;
        self.after = if more { self.after } else { 0 };
        Ok(more)
    }
}

fn delete(connection: &Connection, run: &Run) -> Result<(), Fault> {
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
        connection.prepare_cached(sql)?.execute([from, to])?;
    }
    Ok(())
}

/// Each job with whether it is too young to have ended before the cutoff, and whether it did.
const JOBS: &str = "SELECT j.id, j.created_at >= ?2, coalesce(e.finished_at < ?2, 0) \
     FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id WHERE j.id > ?1 ORDER BY j.id LIMIT ?3";

/// How many jobs one call looks at: a few milliseconds, so that no batch waits long.
const JOBS_MAX: u32 = 2_000;

/// By their moments: SQLite would look for pairs of client and key among all keys of the client. Those of one moment
/// go together, so it may be a few more.
pub(crate) const OLD_KEYS: &str = "DELETE FROM pool_keys WHERE at <= \
     (SELECT max(at) FROM (SELECT at FROM pool_keys WHERE at < ?1 ORDER BY at LIMIT ?2))";
/// The key with the largest number stays: numbering goes on from it.
pub(crate) const OLD_API_KEYS: &str = "DELETE FROM api_keys WHERE id IN \
     (SELECT id FROM api_keys WHERE revoked_at < ?1 AND id < (SELECT max(id) FROM api_keys) ORDER BY id LIMIT ?2)";
pub(crate) const OLD_LOGINS: &str = "DELETE FROM logins WHERE id IN \
     (SELECT id FROM logins WHERE expires_at < ?1 ORDER BY expires_at LIMIT ?2)";

// Rows were added in the order of time, so only the first need be looked at: no index.
pub(crate) const OLD_ACTS: &str = "DELETE FROM audit_log WHERE id IN \
     (SELECT id FROM (SELECT id, at FROM audit_log ORDER BY id LIMIT ?2) WHERE at < ?1)";
