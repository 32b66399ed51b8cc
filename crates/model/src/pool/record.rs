//! Records of the pool.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use super::{PoolJobDraft, PoolResult, Specs};
use crate::{AssignmentId, Digest, Fence, PoolJobId, PoolWorkerId, SubmissionKey, Timestamp, UserId};
use alloc::{boxed::Box, sync::Arc};

/// One row to be written. Rows that mirror state replace the row of the same key; history is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolChange {
    /// Table `workers`.
    Worker(Box<PoolWorkerRecord>),
    /// Table `pool_jobs`: written once, never changed.
    Job(Box<PoolJobRecord>),
    /// Table `pool_assignments`.
    Assignment(Box<AssignmentRecord>),
    /// Table `pool_ends`: written once, never changed; a job without a row here is open.
    End(PoolEndRecord),
    /// Table `pool_keys`.
    Key(PoolKeyRecord),
    /// Rows of `meta`.
    Counters(PoolCounters),
}

words! {
    /// Status of a pool worker.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum PoolWorkerStatus {
        /// Not heard of lately.
        Offline = "offline",
        /// Heard of lately.
        Online = "online",
        /// Shut out.
        Banned = "banned",
    }
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolWorkerRecord {
    pub id: PoolWorkerId,
    pub owner: UserId,
    /// Unique over all owners.
    pub name: Box<str>,
    pub status: PoolWorkerStatus,
    pub region: Option<Box<str>>,
    /// Qualities that jobs may ask for.
    pub specs: Specs,
    /// The same as JSON text, as it came; present when the worker is first written, and in what a store answers.
    pub specs_json: Option<Box<str>>,
    /// Public key for its results; any text (P3).
    pub public_key: Option<Box<str>>,
    /// Assignments it takes at a time.
    pub slots: u32,
    /// Gets no more work.
    pub draining: bool,
    /// Reason why it is shut out.
    pub ban_reason: Option<Box<str>>,
    /// Agreements with a majority (P15).
    pub agreements: u32,
    /// Dissents from a majority (P15).
    pub dissents: u32,
    /// The last heartbeat or poll that was written down.
    pub last_seen: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// A job as it was handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolJobRecord {
    pub id: PoolJobId,
    pub client: UserId,
    /// Attempts in all.
    pub max_attempts: u8,
    /// Everything else about it; what a store hands over at a start has an empty payload.
    pub draft: PoolJobDraft,
    pub created_at: Timestamp,
}

words! {
    /// Status of a pool job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum PoolJobStatus {
        /// No worker has it.
        Queued = "queued",
        /// A worker has it.
        Running = "running",
        /// It has a result.
        Completed = "completed",
        /// It has none, and will not.
        Failed = "failed",
        /// Its client, or an admin, ended it.
        Cancelled = "cancelled",
    }
}

/// The end of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolEndRecord {
    pub job: PoolJobId,
    pub client: UserId,
    /// `Completed`, `Failed` or `Cancelled`.
    pub status: PoolJobStatus,
    /// The assignment whose result is the job's: the accepted one, or the last that failed.
    pub assignment: Option<AssignmentId>,
    /// Reason why it failed, where no assignment says it.
    pub error: Option<Box<str>>,
    pub at: Timestamp,
}

words! {
    /// State of an assignment.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum AssignmentState {
        /// Given out.
        Assigned = "ASSIGNED",
        /// Its worker said that it begins.
        Started = "STARTED",
        /// It has a result.
        Completed = "COMPLETED",
        /// Its worker said that it failed.
        Failed = "FAILED",
        /// Its lease or its job's time ran out.
        Expired = "EXPIRED",
        /// It was taken back: the job ended without it, or its worker was shut out.
        Revoked = "REVOKED",
    }
}

/// An assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssignmentRecord {
    pub id: AssignmentId,
    pub worker: PoolWorkerId,
    /// That worker's owner.
    pub owner: UserId,
    /// The nonce.
    pub fence: Fence,
    pub state: AssignmentState,
    pub granted_at: Timestamp,
    /// Time when the job's own limit is over.
    pub timeout_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// SHA-256 of the body its result came in (P8).
    pub digest: Option<[u8; 32]>,
    /// The `output_hash` that the worker signed.
    pub output_hash: Option<Box<str>>,
    /// The computed hash that counts as its vote, for a redundant job (P15). `None` for a vote that a version before
    /// schema 5 took: then `output_hash` is the vote.
    pub vote: Option<Box<str>>,
    /// Its result; present when it is written, and in what a reader answers; left out of what a look-up finds and of
    /// what is handed over at a start.
    pub result: Option<Arc<PoolResult>>,
}

/// A submission's key and what came of it (P13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolKeyRecord {
    pub client: UserId,
    pub key: SubmissionKey,
    /// Of the body.
    pub digest: Digest,
    /// The first job it made.
    pub first: PoolJobId,
    /// Number of jobs it made.
    pub count: u32,
    pub at: Timestamp,
}

/// Last numbers given out, and the oldest job that may be live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolCounters {
    /// The next worker's number.
    pub next_worker: u64,
    /// The next job's number.
    pub next_job: u64,
    /// No job below this is open.
    pub oldest_open: u64,
}

impl Default for PoolCounters {
    fn default() -> Self {
        Self { next_worker: 1, next_job: 1, oldest_open: 1 }
    }
}

impl PoolJobStatus {
    /// True if nothing more happens.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

impl AssignmentState {
    /// True if a result can be handed in (P8).
    #[must_use]
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Assigned | Self::Started)
    }
}

impl PoolWorkerRecord {
    /// Between 0 and 1: how often a majority agreed with it, with one agreement to begin with (P15).
    #[must_use]
    pub fn reputation(&self) -> f64 {
        let (agreed, dissented) = (f64::from(self.agreements) + 1.0, f64::from(self.dissents));
        agreed / (agreed + dissented)
    }
}
