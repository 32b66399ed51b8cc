//! Records of sessions.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use super::{
    ChunkState, DiagnosticKind, EntryId, FrameRange, FrameTaskId, FrameTaskStatus, IdRange, Removal,
    RendererState, SessionId, SessionStatus,
};
use crate::{Digest, Name, Timestamp};
use alloc::{boxed::Box, vec::Vec};

/// One row to be written. Rows that mirror state replace the row of the same key; history is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameChange {
    /// Table `sim_workers`.
    Renderer(Box<RendererRecord>),
    /// Table `sim_workers`: the row is gone.
    RendererGone(Name),
    /// Table `sim_transitions`.
    Transition(TransitionRecord),
    /// Table `sim_sessions`.
    Session(Box<SessionRecord>),
    /// Table `sim_tasks`.
    Task(Box<FrameTaskRecord>),
    /// Table `sim_chunks`.
    Chunk(ChunkRecord),
    /// Table `sim_replays`.
    Replay(ReplayRecord),
    /// Table `sim_quarantine`.
    Quarantine(Box<QuarantineRecord>),
    /// Table `sim_diagnostics`.
    Diagnostic(DiagnosticRecord),
    /// Table `sim_farm`: its one row.
    Farm(FarmRecord),
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RendererRecord {
    pub id: Name,
    pub state: RendererState,
    pub state_since: Timestamp,
    /// SHA-256 of its token.
    pub token_hash: [u8; 32],
    /// Endpoint at which it takes tasks by push.
    pub endpoint: Option<Box<str>>,
    /// Tasks it takes at a time.
    pub slots: u32,
    /// Failed ranges that may still count (S8), oldest first.
    pub failures: Vec<Timestamp>,
    /// Losses that may still count (S8), oldest first.
    pub losses: Vec<Timestamp>,
    /// Time when it last completed a range (S26b).
    pub last_completed: Option<Timestamp>,
    /// Reaction to its removal; `None` unless it was removed (S6).
    pub removal: Option<Removal>,
    /// The sessions it held ranges of when it was removed, whose files it may still write (S6).
    pub removed_from: Vec<SessionId>,
    /// Time when it last enrolled.
    pub registered_at: Timestamp,
    /// The last heartbeat that was written down.
    pub last_heartbeat: Option<Timestamp>,
    /// JSON text; present when it enrols, and in what a store answers; `None` leaves it as it is.
    pub description: Option<Box<str>>,
}

/// A change of a worker's state (S11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransitionRecord {
    pub worker: Name,
    pub from: RendererState,
    pub to: RendererState,
    pub cause: Box<str>,
    pub at: Timestamp,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// The client's name for it.
    pub id: SessionId,
    /// Its age among all sessions: smaller is older.
    pub seq: u64,
    pub status: SessionStatus,
    pub total_frames: u64,
    /// Frames per task at most.
    pub frames_per_task: u64,
    /// Refuses completions with dropped frames.
    pub strict: bool,
    /// Its directory, relative to the output root.
    pub output: Box<str>,
    /// Of its body.
    pub digest: Digest,
    /// Frames done.
    pub completed_frames: u64,
    /// Frames that were given up or skipped (S23b, S26b).
    pub failed_frames: u64,
    /// True if something of it is live; closed sessions are not loaded.
    pub open: bool,
    /// Time when it was taken.
    pub created_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Reason why it failed.
    pub error: Option<Box<str>>,
    /// JSON text; present when it is first written, and in what a store answers; `None` leaves it as it is.
    pub body: Option<Box<str>>,
}

/// A range of a session's frames that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameTaskRecord {
    pub id: FrameTaskId,
    /// The frame after its last.
    pub end: u64,
    pub status: FrameTaskStatus,
    /// Attempts made, the live one included.
    pub attempt: u16,
    /// Attempts that failed (S26b).
    pub failures: u16,
    /// Attempts that lost their worker (S8).
    pub losses: u16,
    /// The different workers that lost or failed it (S8).
    pub losers: Vec<Name>,
    /// The worker that has or last had it.
    pub worker: Name,
    /// The ids of its last attempt.
    pub ids: IdRange,
    /// Time when it was first cut.
    pub created_at: Timestamp,
    /// Time when its last attempt was granted.
    pub granted_at: Timestamp,
    /// Time when its last attempt was confirmed.
    pub confirmed_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Frames its last attempt dropped.
    pub dropped: u64,
    /// Of the completion that was taken.
    pub digest: Option<Digest>,
    /// Error of its last attempt.
    pub error: Option<Box<str>>,
    /// JSON text of the completion that was taken.
    pub result: Option<Box<str>>,
}

/// Ids that were granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkRecord {
    pub ids: IdRange,
    pub task: FrameTaskId,
    pub worker: Name,
    pub attempt: u16,
    pub state: ChunkState,
    /// Reason why they were retired.
    pub reason: Option<Box<str>>,
    /// Time when they were granted, or became what they are.
    pub at: Timestamp,
}

/// A range that was given out anew (S16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayRecord {
    pub session: SessionId,
    pub range: FrameRange,
    /// The ids that are no longer used.
    pub retired: u64,
    /// The ids in their place; unique among replays.
    pub new: u64,
    pub at: Timestamp,
}

/// Files set apart until a person has looked at them (S15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineRecord {
    pub id: EntryId,
    pub session: SessionId,
    /// That session's directory, relative to the output root.
    pub output: Box<str>,
    pub worker: Name,
    /// They are where they belong.
    pub moved: bool,
    pub files: u64,
    /// Note of the person who looked at the files.
    pub confirmed: Option<Box<str>>,
    pub at: Timestamp,
}

/// A line of the diagnostics log (S4, S20b).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiagnosticRecord {
    pub kind: DiagnosticKind,
    /// The worker that said it, or that it is about.
    pub worker: Name,
    pub session: SessionId,
    /// The task it is about.
    pub task: Option<FrameTaskId>,
    /// The text for people.
    pub text: Box<str>,
    pub at: Timestamp,
}

/// Figures of all sessions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FarmRecord {
    /// Between PauseAll and ResumeAll (S6).
    pub paused: bool,
    /// The number of the next grant of ids (S12).
    pub next_chunk: u64,
    /// The first id never granted (S12).
    pub next_id: u64,
}

impl Default for FarmRecord {
    fn default() -> Self {
        Self { paused: false, next_chunk: 1, next_id: 1 }
    }
}
