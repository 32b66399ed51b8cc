//! Events about the pool.
#![allow(missing_docs, reason = "the fields of an event are named for what they hold")]

use super::{AssignmentState, PoolJobStatus, PoolRegistration, PoolResult, PoolSubmission};
use crate::{AssignmentId, Fence, PoolJobId, PoolWorkerId, Timestamp};
use alloc::{boxed::Box, sync::Arc};

/// A change of what is known about the pool. Applying it cannot fail.
#[derive(Clone, Debug)]
pub enum PoolEvent {
    WorkerRegistered {
        worker: PoolWorkerId,
        registration: Box<PoolRegistration>,
        at: Timestamp,
    },
    WorkerKeyed {
        worker: PoolWorkerId,
        public_key: Box<str>,
        at: Timestamp,
    },
    /// A heartbeat or a poll was heard (volatile, P5).
    WorkerSeen {
        worker: PoolWorkerId,
        at: Timestamp,
    },
    WorkerOnline {
        worker: PoolWorkerId,
        at: Timestamp,
    },
    WorkerOffline {
        worker: PoolWorkerId,
        at: Timestamp,
    },
    WorkerDraining {
        worker: PoolWorkerId,
        draining: bool,
        at: Timestamp,
    },
    WorkerBanned {
        worker: PoolWorkerId,
        reason: Box<str>,
        at: Timestamp,
    },
    WorkerUnbanned {
        worker: PoolWorkerId,
        reason: Box<str>,
        at: Timestamp,
    },
    /// A majority agreed with a worker, or not (P15).
    WorkerJudged {
        worker: PoolWorkerId,
        agreed: bool,
        at: Timestamp,
    },
    /// Jobs were taken; they are numbered from `first` on.
    JobsSubmitted {
        first: PoolJobId,
        submission: Arc<PoolSubmission>,
        at: Timestamp,
    },
    Granted(PoolGrant),
    /// A worker said that it begins (P6).
    Started {
        assignment: AssignmentId,
        at: Timestamp,
    },
    /// An assignment ended without a result: `Expired` or `Revoked`.
    Ended {
        assignment: AssignmentId,
        state: AssignmentState,
        at: Timestamp,
    },
    /// A result was taken (P7).
    ResultTaken {
        result: Arc<PoolResult>,
        at: Timestamp,
    },
    /// A job is over; with the assignment whose result is the job's.
    JobEnded {
        job: PoolJobId,
        status: PoolJobStatus,
        assignment: Option<AssignmentId>,
        error: Option<Box<str>>,
        at: Timestamp,
    },
}

/// A lease as it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolGrant {
    pub assignment: AssignmentId,
    pub worker: PoolWorkerId,
    /// The nonce.
    pub fence: Fence,
    pub started: bool,
    pub at: Timestamp,
    /// Time when the job's own limit is over, however often the lease is renewed (P5).
    pub timeout_at: Option<Timestamp>,
}
