//! Events about sessions, and the effects that must happen outside once they are durable.
#![allow(missing_docs, reason = "the fields of an event are named for what they hold")]

use super::{
    ClosedSession, Completion, EntryId, FrameHandout, FrameRange, FrameTaskId, FrameTaskRecord, Heartbeat,
    IdRange, Progress, QuarantineRecord, RangeEnd, Registration, Removal, RendererState, SessionId,
    SessionStatus, SessionSubmission,
};
use crate::{Name, Timestamp};
use alloc::{boxed::Box, vec::Vec};

/// A change of what is known about sessions and their workers. Applying it cannot fail.
#[derive(Clone, Debug)]
pub enum FrameEvent {
    /// A worker enrolled, for the first time or anew (S1).
    RendererRegistered { registration: Box<Registration>, at: Timestamp },
    /// A worker's state changed (S11).
    RendererMoved { worker: Name, from: RendererState, to: RendererState, cause: Box<str>, at: Timestamp },
    /// A loss (`lost`) or a failed range counts towards a worker's diagnosis (S8).
    FailureCounted { worker: Name, lost: bool, at: Timestamp },
    /// An operator's approval cleared the count (S8).
    FailuresCleared { worker: Name },
    /// A removed worker's reaction to its removal has changed (S6). No answer is awaited about sessions not listed here.
    RemovalChanged { worker: Name, to: Removal, sessions: Vec<SessionId> },
    /// A removed worker has been silent for long: it leaves memory.
    RendererForgotten { worker: Name },
    /// A heartbeat was heard (volatile).
    HeartbeatHeard { heartbeat: Heartbeat, at: Timestamp },
    /// A worker that was removed called (volatile, S6).
    ZombieHeard { worker: Name, at: Timestamp },
    /// A worker told what it is at in this term, and keeps it (volatile, S19).
    RendererBound { worker: Name, kept: Option<FrameTaskId> },
    /// A worker was told orders (volatile).
    OrdersTold { worker: Name },

    /// A session was taken (S26).
    SessionSubmitted { submission: Box<SessionSubmission>, at: Timestamp },
    /// A session was paused or goes on (S26).
    SessionSteered { session: SessionId, status: SessionStatus, at: Timestamp },
    /// A session ended.
    SessionEnded { session: SessionId, status: SessionStatus, error: Option<Box<str>>, at: Timestamp },
    /// An ended session runs again, for these of its ranges and frames (S26b).
    SessionReopened { closed: Box<ClosedSession>, at: Timestamp },

    /// A range was given to a worker (S3).
    RangeGranted(Box<RangeGrant>),
    /// A worker confirmed a range, or a push of it was answered (S3).
    RangeConfirmed { task: FrameTaskId, attempt: u16, at: Timestamp },
    /// A worker was told of a range (volatile).
    RangeShown { task: FrameTaskId },
    /// A push was not answered; the next try is due then (volatile, S3).
    PushFailed { task: FrameTaskId, attempt: u16, next: Timestamp },
    /// It is (volatile).
    PushDue { task: FrameTaskId, attempt: u16 },
    /// A worker told how far it is (volatile, but for the diagnostics).
    RangeProgressed { progress: Box<Progress>, task: FrameTaskId, at: Timestamp },
    /// An assignment ended without a result; its range waits again, or ends with its session.
    RangeEnded { task: FrameTaskId, attempt: u16, end: RangeEnd, error: Option<Box<str>>, at: Timestamp },
    /// A range was handed in and taken (S5).
    RangeCompleted { completion: Box<Completion>, worker: Name, attempt: u16, at: Timestamp },
    /// A completed range is to be rendered again: its chunk was retired (S17), or the manifest would skip it (S23b).
    RangeReopened { record: Box<FrameTaskRecord>, cause: Reopening, at: Timestamp },
    /// A range was halved at a frame; both halves wait (S26b).
    RangeSplit { task: FrameTaskId, middle: u64, at: Timestamp },
    /// A single frame was given up (S26b).
    RangeGivenUp { task: FrameTaskId, error: Box<str>, at: Timestamp },
    /// A completed range stays out of the manifest: its attempts are used up (S23b).
    RangeSkipped { record: Box<FrameTaskRecord>, reason: Box<str>, at: Timestamp },
    /// A range that was given up waits again, with all its attempts (S26b).
    RangeRetried { task: FrameTaskId, at: Timestamp },

    /// More ids were granted to a task (S1).
    IdsGranted { task: FrameTaskId, worker: Name, attempt: u16, ids: IdRange, at: Timestamp },
    /// Ids will never be used (S13).
    ChunkRetired {
        ids: IdRange,
        task: FrameTaskId,
        worker: Name,
        attempt: u16,
        reason: Box<str>,
        at: Timestamp,
    },

    /// Files are to be moved to quarantine, now or once more (S15).
    QuarantineWanted { entry: EntryId, session: SessionId, output: Box<str>, worker: Name, at: Timestamp },
    /// They were (S15).
    QuarantineMoved { entry: EntryId, files: u64, at: Timestamp },
    /// A person has looked at them (S15).
    QuarantineConfirmed { record: Box<QuarantineRecord>, note: Box<str>, at: Timestamp },

    /// No task is given out any more (`true`), or again (`false`) (S6).
    Broadcast { paused: bool, at: Timestamp },
}

/// Reason why a completed range is rendered again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reopening {
    /// An operator retired its chunk (S17).
    Retired,
    /// The manifest would skip it, for this reason (S23b).
    Skipped(Box<str>),
}

/// A range as it was given to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeGrant {
    pub task: FrameTaskId,
    pub range: FrameRange,
    pub worker: Name,
    pub attempt: u16,
    pub ids: IdRange,
    /// The ids of the try before, retired (S16).
    pub replaces: Option<u64>,
    /// To be brought to the worker.
    pub push: bool,
    /// The worker is told of it with this very answer.
    pub shown: bool,
    pub at: Timestamp,
}

/// Something to be done outside once a decision is durable; derived again from state after a start. Each but `WriteSession` is acknowledged by a command of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Bring a task to a worker (S3); `Pushed` tells how it went.
    Push {
        worker: Name,
        endpoint: Box<str>,
        /// SHA-256 of its token: the key of the signature.
        token_hash: [u8; 32],
        handout: Box<FrameHandout>,
    },
    /// Tell a removed worker by push to stop (S6); `Dismissed` tells that it acknowledged.
    Dismiss {
        worker: Name,
        endpoint: Box<str>,
        /// SHA-256 of its token: the key of the signature.
        token_hash: [u8; 32],
    },
    /// Move files to quarantine (S15); `Moved` tells that it is done.
    Quarantine(Box<QuarantineRecord>),
    /// Write `session.json` anew (S21).
    WriteSession { session: SessionId },
    /// Write the manifest of a session whose frames are all done or given up (S21); `Merged` tells that it is done.
    Merge {
        session: SessionId,
        /// Tells this request from earlier ones for the session: a manifest that was overtaken by a retry does not count.
        mark: u64,
    },
}
