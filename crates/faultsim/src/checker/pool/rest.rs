//! Once all is quiet: every job has ended, or nobody could do it, and it is said why.

use super::{PoolBook, Verdict, ensure, grant::fits};
use muster_model::{AssignmentState, PoolCause, PoolJobId, PoolJobRecord, UserId};
use std::collections::BTreeSet;

impl PoolBook {
    /// Whether every job has ended that some worker could do.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rows.live.is_empty() && self.open().all(|job| !self.is_doable(job))
    }

    /// The last look: jobs that are still open are explained (P15).
    pub(crate) fn at_rest(&self, explain: impl Fn(PoolJobId) -> Option<PoolCause>) -> Verdict {
        for job in self.open() {
            let cause = explain(job.id);
            let is_right = matches!(
                cause,
                Some(
                    PoolCause::NoWorkers
                        | PoolCause::NoWorkerInRegion { .. }
                        | PoolCause::RequirementsUnmet
                        | PoolCause::TooFewOwners { .. }
                )
            );
            ensure(is_right, "pool_job_unexplained", || format!("{job:?}: {cause:?}"))?;
        }
        Ok(())
    }

    /// What keeps the ledger from being quiet.
    pub(in crate::checker) fn unrest(&self) -> String {
        let open: Vec<&PoolJobRecord> = self.open().filter(|job| self.is_doable(job)).collect();
        let live: Vec<_> = self.rows.live.iter().filter_map(|id| self.rows.assignments.get(id)).collect();
        let workers = self.rows.workers.values();
        let workers: Vec<_> = workers.map(|row| (row.id, row.status, row.draining)).collect();
        format!("pool jobs {open:?}, assignments {live:?}, workers {workers:?}")
    }

    fn open(&self) -> impl Iterator<Item = &PoolJobRecord> {
        self.rows.jobs.values().filter(|job| !self.rows.ends.contains_key(&job.id))
    }

    /// Whether somebody could do a job whose owner was not asked before, where that counts (P15).
    fn is_doable(&self, job: &PoolJobRecord) -> bool {
        let asked = self.rows.of(job.id).filter(|row| row.state != AssignmentState::Revoked);
        let asked = asked.filter(|_| job.draft.redundancy > 1);
        let asked: BTreeSet<UserId> = asked.map(|row| row.owner).collect();
        self.rows.workers.values().any(|worker| fits(job, worker) && !asked.contains(&worker.owner))
    }
}
