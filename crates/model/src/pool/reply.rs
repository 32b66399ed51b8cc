//! Replies about the pool.
#![allow(missing_docs, reason = "the fields are named for what they hold")]

use super::{AssignmentId, PoolJobId, PoolJobStatus, PoolWorkerRecord};
use crate::{Fence, Timestamp};
use alloc::{boxed::Box, vec::Vec};

/// The answer to a command that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolReply {
    /// To `Register`, `SetKey`, `Drain`, `Ban` and `Unban`: the worker as it stands now.
    Worker(Box<PoolWorkerRecord>),
    /// To `Beat`.
    Seen { at: Timestamp },
    /// To `Poll`: an assignment, or none for now.
    Assignment(Option<PoolHandout>),
    /// To `Resume`.
    Assignments(Vec<PoolHandout>),
    /// To `HandIn`.
    Taken(PoolTaken),
    /// To `Work`.
    Worked(PoolWorkReply),
    /// To `Submit`.
    Submitted(PoolSubmissionReply),
    /// To `Cancel`.
    Cancelled(PoolCancelReply),
}

/// Submitted results and new work of one call (P19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolWorkReply {
    /// The fate of each result, in order.
    pub results: Vec<Result<PoolTaken, PoolRejection>>,
    /// The worker's assignments.
    pub assignments: Vec<PoolHandout>,
}

/// Submitted jobs (P13, P18): numbers that begin with `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSubmissionReply {
    pub first: PoolJobId,
    pub count: u32,
    pub at: Timestamp,
    pub repeated: bool,
}

/// A cancelled job (P13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolCancelReply {
    pub job: PoolJobId,
    pub at: Timestamp,
}

/// One assignment given to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolHandout {
    pub assignment: AssignmentId,
    pub fence: Fence,
    pub priority: u8,
}

/// A result that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolTaken {
    pub assignment: AssignmentId,
    /// `Completed` or `Failed`.
    pub status: PoolJobStatus,
    pub at: Timestamp,
}

/// Reason why a command about the pool was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolRejection {
    /// No such worker, or somebody else's.
    WorkerUnknown,
    /// The name is another worker's.
    NameTaken,
    /// No such assignment, or another worker's (P8).
    AssignmentUnknown,
    /// The nonce is not the assignment's (P8).
    NonceInvalid,
    /// It has a result (P8); `identical`: from the same bytes.
    AlreadySubmitted { identical: bool },
    /// It is over (P8).
    NotSubmittable,
    /// A result of a redundant job has no output to compare (P15).
    OutputRequired,
    /// The hash is not that of the output (P11).
    HashMismatch,
    /// The key that verified the signature is no longer the worker's.
    KeyReplaced,
    /// No such job, or somebody else's.
    JobUnknown,
    /// The job is over (P13).
    JobFinished,
    /// The submission key was used before, for another body (P13).
    KeyConflict,
    /// There are no more ids.
    IdsExhausted,
    /// The client has as many jobs waiting as one may have.
    TooManyWaiting { max: u64 },
    /// The owner has as many workers as one may have.
    TooManyWorkers { max: usize },
    /// The client's open jobs ask for as many different things as one client's may.
    TooManyDemands { max: usize },
}
