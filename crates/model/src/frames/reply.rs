//! Replies about sessions.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use super::{
    FrameRange, FrameTaskId, FrameTaskStatus, IdRange, Pressure, RendererState, SessionId, SessionStatus,
};
use crate::Name;
use alloc::{boxed::Box, vec::Vec};

/// The answer to a command that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameReply {
    /// To `Register`: the epoch it registered in.
    Registered(RegistrationReply),
    /// To `Heartbeat` and `Rebind`.
    Beat(Beat),
    /// To `Ask`: a task, or none for now.
    Task(Option<Box<FrameHandout>>),
    /// To `Complete`: taken, now or (`repeated`) before.
    Accepted(CompletionReply),
    /// To `MoreIds`.
    Ids(IdRange),
    /// To `Submit`, `Steer` and `Retry`: the session as it stands now.
    Session(SessionReply),
    /// To everything else.
    Done,
}

/// A registration that was accepted (S1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistrationReply {
    /// The epoch in which the worker registered.
    pub epoch: u64,
}

/// A completion that was accepted (S5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionReply {
    /// True if it was accepted before.
    pub repeated: bool,
    /// The worker that held the task.
    pub worker: Name,
    /// The attempt that completed it.
    pub attempt: u16,
}

/// A session's status (S26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionReply {
    /// Its status now.
    pub status: SessionStatus,
    /// True if it was submitted, or cancelled, before.
    pub repeated: bool,
}

/// Reply to a heartbeat (S2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    pub state: RendererState,
    pub epoch: u64,
    /// Its share of the full frame rate.
    pub pressure: Pressure,
    pub orders: Vec<Order>,
}

/// One of `commands[]` (S2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Tell what it is at: a new term began.
    Rebind,
    /// Enrol anew: it was lost.
    Reregister,
    /// Stand still.
    Pause,
    /// Go on.
    Resume,
    /// End this task.
    Stop(FrameTaskId),
}

/// One task given to a worker (S3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameHandout {
    pub task: FrameTaskId,
    pub range: FrameRange,
    pub ids: IdRange,
    pub attempt: u16,
    pub epoch: u64,
    /// True if another try was made before.
    pub replay: bool,
    /// The session's directory, relative to the output root.
    pub output: Box<str>,
}

/// Reason why a command about sessions was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are named for what they hold")]
pub enum FrameRejection {
    /// No such worker.
    RendererUnknown,
    /// The worker is in quarantine (S9).
    Quarantined,
    /// The worker is not in quarantine.
    NotQuarantined { state: RendererState },
    /// The worker was removed (S6).
    Removed,
    /// The worker may not work as it stands, or its slots are full.
    Unfit { state: RendererState, live: u32, slots: u32 },
    /// No such session.
    SessionUnknown,
    /// The id was used before, for another session (S26).
    SessionConflict,
    /// The session has ended.
    SessionEnded { session: SessionId, status: SessionStatus },
    /// No such task.
    TaskUnknown,
    /// The task does not wait for a worker.
    TaskNotWaiting { status: FrameTaskStatus },
    /// The worker does not hold the task, or no longer (S5).
    NotHolder { holder: Option<Name> },
    /// The worker holds no task, or several (S4).
    HoldsNone,
    /// The attempt was completed before, with another content (S5).
    CompletionConflict,
    /// The fragment's frames are not the assignment's (S5).
    RangeForeign { expected: FrameRange },
    /// The fragment's chunk is not the assignment's (S5, S17).
    ChunkForeign { expected: u64 },
    /// Frames were dropped and the session is strict (S26).
    FramesDropped { dropped: u64 },
    /// The worker was lost, and must register anew (S8).
    Lost,
    /// One attempt has as many chunks as it can get (S13).
    TooManyChunks { max: usize },
    /// No such chunk.
    ChunkUnknown,
    /// There are no more ids (S13).
    IdsExhausted,
    /// The files of the entry are on their way: nobody can have looked at them yet (S15).
    EntryMoving,
    /// Nothing of the session failed, or nothing of the frames that were named (S26b).
    NothingFailed,
    /// The session changed while it was read: the request may be repeated.
    SessionChanged,
    /// No task is given out between PauseAll and ResumeAll (S6), or while the session is paused.
    Paused,
}
