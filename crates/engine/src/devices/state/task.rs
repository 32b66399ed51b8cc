//! Tasks that have not ended, and the leases on them.

use super::{LaneIx, WorkerIx};
use alloc::boxed::Box;
use muster_model::{Fence, LeaseKind, TaskStatus, Timestamp};

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
