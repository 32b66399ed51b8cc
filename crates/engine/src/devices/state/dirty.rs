//! What changed since the last batch, what must be looked at, and who must be woken.

use super::{LaneIx, TaskRef, WorkerIx};
use crate::Waiter;
use alloc::{collections::BTreeSet, vec::Vec};
use muster_model::{Change, TaskId};

/// Marks left by applying events.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dirty {
    pub(crate) workers: BTreeSet<WorkerIx>,
    pub(crate) lanes: BTreeSet<LaneIx>,
    pub(crate) jobs: BTreeSet<u64>,
    pub(crate) tasks: BTreeSet<TaskRef>,
    pub(crate) ended: BTreeSet<TaskId>,
    pub(crate) shares: BTreeSet<(WorkerIx, u64)>,
    /// Rows of history, and rows whose object has left memory.
    pub(crate) history: Vec<Change>,
    /// Jobs that may have ended.
    pub(crate) check_jobs: BTreeSet<u64>,
    /// Lanes long away that a job may have to skip.
    pub(crate) check_skips: BTreeSet<LaneIx>,
    /// Workers whose lanes vanished.
    pub(crate) check_drops: BTreeSet<WorkerIx>,
    /// Workers that took a device back from another one.
    pub(crate) check_contests: BTreeSet<WorkerIx>,
    /// Queues that may serve their next job.
    pub(crate) check_queues: bool,
    /// Workers whose waiting requests should be decided again.
    pub(crate) woken: BTreeSet<WorkerIx>,
    pub(crate) woken_all: bool,
    /// Workers whose waiting requests must be answered at once.
    pub(crate) dismissed: BTreeSet<Waiter>,
    /// Workers heard of since the last flush.
    pub(crate) sighted: BTreeSet<WorkerIx>,
    /// Workers whose timer rang and must be set anew.
    pub(crate) rearm: BTreeSet<WorkerIx>,
}
