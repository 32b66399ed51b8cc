//! Marks left by applying events.

use super::{LaneIx, TaskRef, WorkerIx};
use crate::{
    Waiter,
    kernel::storage::{Marks, SortedDeque},
};
use alloc::{collections::BTreeSet, vec::Vec};
use muster_model::{Change, TaskId};

/// Marks left by applying events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dirty {
    pub(crate) workers: Marks<WorkerIx>,
    pub(crate) lanes: Marks<LaneIx>,
    pub(crate) jobs: Marks<u64>,
    pub(crate) tasks: Marks<TaskRef>,
    pub(crate) ended: Marks<TaskId>,
    pub(crate) shares: Marks<(WorkerIx, u64)>,
    /// Rows of history, and rows whose object has left memory.
    pub(crate) history: Vec<Change>,
    /// Jobs that may have ended.
    pub(crate) check_jobs: SortedDeque<u64>,
    /// Lanes long away that a job may have to skip.
    pub(crate) check_skips: BTreeSet<LaneIx>,
    /// Workers whose lanes vanished.
    pub(crate) check_drops: BTreeSet<WorkerIx>,
    /// Workers that took a device back from another one.
    pub(crate) check_contests: BTreeSet<WorkerIx>,
    /// Queues that may serve their next job.
    pub(crate) check_queues: bool,
    /// Workers whose waiting requests should be decided again.
    pub(crate) woken: Marks<WorkerIx>,
    pub(crate) woken_all: bool,
    /// Workers whose waiting requests must be answered at once.
    pub(crate) dismissed: BTreeSet<Waiter>,
    /// Workers heard of since the last flush.
    pub(crate) sighted: Marks<WorkerIx>,
    /// Workers whose timer rang and must be set anew.
    pub(crate) rearm: BTreeSet<WorkerIx>,
}

impl Dirty {
    /// True if no mark is left that could cause an event.
    pub(crate) fn is_settled(&self) -> bool {
        let Self { check_jobs, check_skips, check_drops, check_contests, check_queues, .. } = self;
        check_jobs.is_empty()
            && check_skips.is_empty()
            && check_drops.is_empty()
            && check_contests.is_empty()
            && !check_queues
    }
}
