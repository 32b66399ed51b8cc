//! All in all, for the metrics.

use super::Pool;
use muster_model::{PoolStatus, PoolWorkerStatus};

impl Pool {
    /// Counts what there is.
    pub(crate) fn status(&self) -> PoolStatus {
        let count = |status: PoolWorkerStatus| {
            let of_it = self.members.values().filter(|member| member.status() == status);
            (status, of_it.count() as u64)
        };
        PoolStatus {
            workers: PoolWorkerStatus::ALL.iter().copied().map(count).collect(),
            open: self.jobs.len() as u64,
            waiting: self.ready.len() as u64,
            assignments: self.members.values().map(|member| member.live.len() as u64).sum(),
            polls: self.asking.len() as u64,
        }
    }
}
