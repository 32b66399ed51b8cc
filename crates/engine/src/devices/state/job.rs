//! Jobs that clients submitted, and the queues they stand in.

use super::WorkerIx;
use alloc::{boxed::Box, collections::BTreeSet};
use muster_model::{JobId, JobStatus, Name, Scope, Timestamp};

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
