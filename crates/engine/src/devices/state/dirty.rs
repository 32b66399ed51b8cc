//! Marks: timers, what changed since the last batch, what must be looked at and who must be woken, and what was decided
//! and may not be committed yet.

use super::{LaneIx, TaskRef, WorkerIx};
use crate::{Waiter, kernel::Map};
use alloc::{boxed::Box, collections::BTreeSet, vec::Vec};
use muster_model::{
    Change, JobId, JobStatus, KeyRecord, ReportId, ReportSubject, SubmissionKey, TaskId, TaskRecord,
};

/// Timers: each names what to look at when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Is this worker silent (N15), a lease of it due (Q9, Q14, N15b), its pause over (N17)?
    Worker(WorkerIx),
    /// May this job hand out again to this worker (N2)?
    Redelivery(WorkerIx),
    /// Has this lane been away too long (Q6)?
    Lane(LaneIx),
    /// Has this job waited long enough for a device (Q6)?
    Job(u64),
    /// Must this job skip lanes long away, from this one on (Q6)?
    Skip(u64, LaneIx),
}

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

/// Facts that a look-up in the store might still miss.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    pub(crate) reports: Map<ReportId, ReportSubject>,
    pub(crate) keys: Map<SubmissionKey, KeyRecord>,
    pub(crate) tasks: Map<TaskId, Box<TaskRecord>>,
    pub(crate) jobs: Map<JobId, JobStatus>,
}
