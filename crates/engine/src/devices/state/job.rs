//! Jobs that clients submitted, the queues they stand in, their tasks, and the leases on these.

use super::{LaneIx, WorkerIx};
use alloc::{boxed::Box, collections::BTreeSet};
use muster_model::{Fence, JobId, JobStatus, LeaseKind, Name, Scope, TaskStatus, Timestamp};

/// A job that is not closed.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) seq: u64,
    pub(crate) queue: Name,
    pub(crate) status: JobStatus,
    pub(crate) scope: Scope,
    pub(crate) max_attempts: u16,
    pub(crate) created_at: Timestamp,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) error: Option<Box<str>>,
    /// Tasks created so far; the last ordinal.
    pub(crate) tasks: u32,
    /// Tasks that completed.
    pub(crate) completed: u32,
    /// Tasks that have not ended.
    pub(crate) open: u32,
    /// Those of them that wait for another attempt.
    pub(crate) pending: BTreeSet<u32>,
    /// Targets without a row; only while active.
    pub(crate) lacking: u32,
    /// Workers that hold a share of it.
    pub(crate) shared_by: BTreeSet<WorkerIx>,
    /// Nothing of it is live any more; it leaves memory.
    pub(crate) closed: bool,
}

/// Jobs that are served one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    pub(crate) active: Option<u64>,
    pub(crate) waiting: BTreeSet<u64>,
}

impl Job {
    pub(crate) fn is_active(&self) -> bool {
        self.status == JobStatus::Running
    }
}

/// A task's place: its job's age and its ordinal in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TaskRef {
    pub(crate) job: u64,
    pub(crate) ordinal: u32,
}

/// A task that has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) lane: LaneIx,
    /// The worker that has or last had it.
    pub(crate) worker: WorkerIx,
    pub(crate) attempt: u16,
    pub(crate) max_attempts: u16,
    /// Of the live or last attempt.
    pub(crate) fence: Fence,
    pub(crate) kind: LeaseKind,
    /// `Some` exactly while it is leased out.
    pub(crate) lease: Option<Lease>,
    pub(crate) granted_at: Timestamp,
    pub(crate) confirmed_at: Option<Timestamp>,
    /// Time when the last attempt ended.
    pub(crate) ended_at: Option<Timestamp>,
    pub(crate) timed_out: bool,
    pub(crate) error: Option<Box<str>>,
    pub(crate) created_at: Timestamp,
    /// Its place in the line of retries.
    pub(crate) order: u64,
    pub(crate) logs: u32,
}

/// The live right to the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) until: Timestamp,
    pub(crate) timeout_at: Timestamp,
    /// Time when it was last shown to its worker, until confirmed.
    pub(crate) shown_at: Timestamp,
}

impl Task {
    pub(crate) fn status(&self) -> TaskStatus {
        if self.lease.is_some() { TaskStatus::Running } else { TaskStatus::Pending }
    }
}
