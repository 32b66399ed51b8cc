//! Commands about the pool, and their replies.
#![allow(missing_docs, reason = "the fields are named for what they hold")]

use super::{Demand, PoolJobStatus, PoolWorkerRecord, PoolWorkerStatus, Specs};
use crate::{AssignmentId, Digest, Fence, Millis, PoolJobId, PoolWorkerId, SubmissionKey, Timestamp, UserId};
use alloc::{boxed::Box, sync::Arc, vec::Vec};

/// One request about the pool.
#[derive(Clone, Debug)]
pub enum PoolCommand {
    /// An owner brings a worker (P3).
    Register(Box<PoolRegistration>),
    /// An owner gives a worker another key.
    SetKey { worker: PoolWorkerId, owner: UserId, public_key: Box<str> },
    /// A worker shows that it lives (P5).
    Beat { worker: PoolWorkerId, owner: UserId },
    /// A worker asks for its oldest assignment, or (`supply`) a new one (P6).
    Poll { worker: PoolWorkerId, owner: UserId, start: bool, supply: bool },
    /// A worker asks what it had started (P6).
    Resume { worker: PoolWorkerId, owner: UserId },
    /// A worker hands in a result whose signature is good (P7).
    HandIn { worker: PoolWorkerId, owner: UserId, result: Arc<PoolResult> },
    /// A worker hands in results and asks for more work (P19).
    Work(Box<PoolWork>),
    /// A client hands in jobs, all or none (P13, P18).
    Submit(Box<PoolSubmission>),
    /// A job is to end (P13); with `client`, only if it is theirs.
    Cancel { job: PoolJobId, client: Option<UserId> },
    /// An owner wants no more work for a worker, or work again (P14).
    Drain { worker: PoolWorkerId, owner: Option<UserId>, draining: bool },
    /// A worker is shut out (P14).
    Ban { worker: PoolWorkerId, reason: Box<str> },
    /// A worker is let in again; its dissents are forgiven (P14).
    Unban { worker: PoolWorkerId, reason: Box<str> },
}

/// A worker as its owner describes it.
#[derive(Clone, Debug)]
pub struct PoolRegistration {
    pub owner: UserId,
    /// Unique over all owners.
    pub name: Box<str>,
    pub region: Option<Box<str>>,
    /// Qualities that jobs may ask for.
    pub specs: Specs,
    /// The same as JSON text, as it came.
    pub specs_json: Option<Box<str>>,
    /// Any text (P3).
    pub public_key: Option<Box<str>>,
    /// Assignments it takes at a time.
    pub slots: u32,
}

/// A result as a worker hands it in. Its signature was verified with `public_key` before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolResult {
    pub assignment: AssignmentId,
    /// `None`: a text that cannot be a nonce of ours.
    pub nonce: Option<Fence>,
    /// As it came; with `batch` it is the one over all results of the request.
    pub signature: Box<str>,
    /// The key that verified it.
    pub public_key: Box<str>,
    /// JSON text.
    pub output: Option<Box<str>>,
    pub output_hash: Option<Box<str>>,
    /// True if `output_hash` is that of `output`; `None`: one of them is missing (P11).
    pub hash_matches: Option<bool>,
    /// The hash that the coordinator computed from `output` and `artifact_uri`; `None` without an output (P15). A store
    /// keeps it with the assignment, and only for redundant jobs.
    pub vote: Option<Box<str>>,
    /// A non-empty one makes the assignment failed (P8).
    pub error: Option<Box<str>>,
    pub artifact_uri: Option<Box<str>>,
    /// JSON text.
    pub metrics: Option<Box<str>>,
    /// SHA-256 of the body it came in (P8).
    pub digest: [u8; 32],
    /// Its place among the results that one signature covers (P20); `None`: it has a signature of its own.
    pub batch: Option<BatchPlace>,
}

/// The place of a result among those that its worker signed at once (P20).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchPlace {
    /// Number of results.
    pub count: u32,
    /// The place of this one, from 0 on.
    pub index: u32,
    /// The hashes on the way from this result to the root of the Merkle tree.
    pub path: Box<[[u8; 32]]>,
}

/// Results and a request for more work, in one call.
#[derive(Clone, Debug)]
pub struct PoolWork {
    pub worker: PoolWorkerId,
    pub owner: UserId,
    pub results: Vec<Arc<PoolResult>>,
    /// At most so many assignments.
    pub max: u32,
    /// They count as started.
    pub start: bool,
    /// True if new work may be given.
    pub supply: bool,
}

/// Jobs as a client hands them in.
#[derive(Clone, Debug)]
pub struct PoolSubmission {
    pub client: UserId,
    /// Recognises a repeat.
    pub key: Option<SubmissionKey>,
    /// Of the body, to tell a repeat from a mistake.
    pub digest: Digest,
    pub jobs: Vec<PoolJobDraft>,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolJobDraft {
    /// JSON text.
    pub payload: Arc<str>,
    /// 0 to 100; more comes first.
    pub priority: u8,
    pub demand: Demand,
    /// Requirements as the JSON text that came.
    pub requires_json: Option<Box<str>>,
    /// `None`: the general setting.
    pub max_attempts: Option<u8>,
    /// Counts from the grant (P5).
    pub timeout: Option<Millis>,
    /// Checks the hash of a result against its output (P11); a redundant job always does (P15).
    pub verify_output_hash: bool,
    /// So many workers of different owners do it (P15).
    pub redundancy: u8,
}

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

/// Figures of the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolStatus {
    /// Workers by status.
    pub workers: Vec<(PoolWorkerStatus, u64)>,
    /// Jobs that are not over.
    pub open: u64,
    /// Those of them that could be given out now.
    pub waiting: u64,
    /// Live assignments.
    pub assignments: u64,
    /// Requests that wait for work.
    pub polls: u64,
}
