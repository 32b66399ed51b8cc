//! The parts that a worker has of jobs.

use super::LaneIx;
use alloc::collections::BTreeSet;
use muster_model::{JobId, ShareCounts, TaskId};

/// One job's part at one worker.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) job: JobId,
    /// The first task handed out by a pull; the job is announced with it.
    pub(crate) first: Option<TaskId>,
    /// Lanes that could start now: fresh ones first, then retries in line (Q10).
    pub(crate) waiting: BTreeSet<(u64, LaneIx)>,
    /// Targets here without a row.
    pub(crate) lacking: u32,
    /// Rows here that have not ended.
    pub(crate) open_rows: u32,
    pub(crate) counts: ShareCounts,
}

impl Share {
    pub(crate) fn new(job: JobId) -> Self {
        Self {
            job,
            first: None,
            waiting: BTreeSet::new(),
            lacking: 0,
            open_rows: 0,
            counts: ShareCounts::default(),
        }
    }

    /// True if the job holds nothing more for the worker.
    pub(crate) fn is_drained(&self) -> bool {
        self.lacking == 0 && self.open_rows == 0
    }
}
