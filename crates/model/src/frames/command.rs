//! Commands about sessions.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use super::{
    EntryId, FrameRange, FrameTaskId, FrameTaskRecord, QuarantineRecord, Ratio, SessionId, SessionRecord,
};
use crate::{Digest, Millis, Name};
use alloc::{boxed::Box, vec::Vec};

/// One request that concerns sessions and their workers.
#[derive(Clone, Debug)]
pub enum FrameCommand {
    /// A worker enrols (S1).
    Register(Box<Registration>),
    /// A worker lives (S2).
    Heartbeat(Heartbeat),
    /// A worker asks for a task (S3).
    Ask {
        worker: Name,
        /// False: only what it already holds is told; its wait is over.
        supply: bool,
    },
    /// A worker tells how far it is (S4).
    Progress(Box<Progress>),
    /// A worker hands in a range (S5).
    Complete(Box<Completion>),
    /// A worker gives up (S5b).
    Fail {
        task: FrameTaskId,
        /// The worker, where known.
        worker: Option<Name>,
        /// The attempt, where known.
        attempt: Option<u16>,
        /// Text for people.
        error: Box<str>,
    },
    /// Take a worker off the list (S6).
    Remove {
        worker: Name,
        /// Asked by the worker itself: not a way out of quarantine.
        itself: bool,
    },
    /// Give a waiting task to a worker, before the order of the queue (S6).
    Assign { task: FrameTaskId, worker: Name },
    /// Give out no task any more (`true`), or again (`false`) (S6).
    Broadcast { pause: bool },
    /// Keep a worker away from work (S9).
    Quarantine { worker: Name, reason: Box<str> },
    /// Let a worker out of quarantine (S9).
    Approve { worker: Name, reason: Box<str> },
    /// Grant more ids to a task (S1).
    MoreIds {
        worker: Name,
        /// For which of its tasks; `None`: the one it holds.
        task: Option<FrameTaskId>,
        /// At least so many.
        count: u64,
    },
    /// Never use these ids again, and have their range done anew (S17).
    RetireChunk {
        chunk: u64,
        /// Its task, as the store knows it.
        task: Option<FrameTaskId>,
        reason: Box<str>,
    },
    /// Take a new session (S26).
    Submit(Box<SessionSubmission>),
    /// Pause, resume or cancel a session (S26).
    Steer { session: SessionId, to: Steering },
    /// A worker comes back after a new term began (S19).
    Rebind { worker: Name, held: Option<Held> },
    /// A push was answered, or not (S3).
    Pushed {
        task: FrameTaskId,
        attempt: u16,
        /// True if the worker took it.
        acked: bool,
    },
    /// Files were moved to quarantine (S15).
    Moved {
        entry: EntryId,
        /// Number of files it holds now.
        files: u64,
    },
    /// A person has looked at an entry of the quarantine (S15).
    Confirm {
        /// The entry as the store has it.
        record: Box<QuarantineRecord>,
        /// Description of the ids.
        note: Box<str>,
    },
    /// The manifest of a session whose frames are all done or given up was written (S21).
    Merged {
        session: SessionId,
        /// The mark of the request to write it.
        mark: u64,
        /// The completed ranges that it would skip (S23).
        skipped: Vec<SkippedRange>,
    },
    /// Render failed frames again (S26b).
    Retry(Box<RetryRequest>),
    /// A removed worker was told so by push and acknowledged it (S6).
    Dismissed { worker: Name },
}

/// A completed range that the manifest would skip (S23).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRange {
    /// Its task, as the store knows it.
    pub task: FrameTaskId,
    /// The chunk of its fragment.
    pub chunk: u64,
    /// Reason, for people.
    pub reason: Box<str>,
}

/// A request to render failed frames again (S26b).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryRequest {
    pub session: SessionId,
    /// Only failed ranges that have frames in common with one of these; `None`: all of them.
    pub frames: Option<Vec<FrameRange>>,
    /// The session as the store knows it, if it has ended.
    pub closed: Option<ClosedSession>,
}

/// A session that has ended, with everything of it that is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedSession {
    pub record: SessionRecord,
    /// Its ranges that were not completed, by first frame.
    pub ranges: Vec<FrameTaskRecord>,
    /// Frames that were never cut into a range.
    pub uncut: Vec<FrameRange>,
}

/// A worker as it enrols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub worker: Name,
    /// SHA-256 of the token it is given.
    pub token_hash: [u8; 32],
    /// Endpoint at which it takes tasks by push.
    pub endpoint: Option<Box<str>>,
    /// Tasks it takes at a time.
    pub slots: u32,
    /// Role, capabilities and whatever else it said, as JSON text.
    pub description: Box<str>,
}

/// A sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    pub worker: Name,
    /// Fill of its queue.
    pub queue_ratio: Ratio,
    /// Load of its GPU.
    pub gpu_usage: Option<Ratio>,
    /// The last frame it made.
    pub last_frame: Option<u64>,
    /// It reports an error.
    pub error: bool,
    /// Round-trip time of its previous heartbeat.
    pub rtt: Option<Millis>,
}

/// Progress of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    pub worker: Name,
    /// In which session, as it believes.
    pub session: SessionId,
    /// At which task; `None`: the one it holds there.
    pub task: Option<FrameTaskId>,
    /// Frames made so far in this attempt.
    pub processed: u64,
    /// Highest fill of its queue.
    pub max_queue_ratio: Ratio,
    /// Frames dropped so far in this attempt.
    pub dropped: u64,
    /// Lines for the diagnostics log.
    pub diagnostics: Vec<Box<str>>,
}

/// A range handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub task: FrameTaskId,
    /// The worker, where known.
    pub worker: Option<Name>,
    /// The attempt, where known.
    pub attempt: Option<u16>,
    /// The frames its fragment speaks of.
    pub range: FrameRange,
    /// The chunk its fragment speaks of.
    pub chunk: u64,
    /// Frames it says were dropped.
    pub dropped: u64,
    /// Of the whole message.
    pub digest: Digest,
    /// JSON text kept with the task.
    pub result: Box<str>,
    /// Only asked whether it would be taken; changes nothing.
    pub dry: bool,
}

/// A session as a client hands it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSubmission {
    /// The client's name for it.
    pub session: SessionId,
    /// Of the body, to tell a repeat from a mistake.
    pub digest: Digest,
    pub total_frames: u64,
    /// Frames per task at most.
    pub frames_per_task: u64,
    /// Refuses completions with dropped frames.
    pub strict: bool,
    /// Its directory, relative to the output root.
    pub output: Box<str>,
    /// The whole message as JSON text.
    pub body: Box<str>,
}

/// Actions of a client on a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steering {
    /// Give out nothing more for now.
    Pause,
    /// Give out again.
    Resume,
    /// End it.
    Cancel,
}

/// The range that a worker says it holds (S19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub task: FrameTaskId,
    pub attempt: u16,
    /// With which ids.
    pub chunk: u64,
}
