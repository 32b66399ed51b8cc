//! Views of sessions: what memory knows beyond the store, never durable.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use super::{
    FrameRange, FrameTaskId, FrameTaskStatus, IdRange, Pressure, Ratio, RendererState, SessionId,
    SessionStatus,
};
use crate::{Name, Timestamp};
use alloc::vec::Vec;

/// Queries.
#[derive(Clone, Debug)]
pub enum FrameQuery {
    /// All in all (S7).
    Status,
    /// Every worker.
    AllRenderers,
    /// These workers.
    Renderers(Vec<Name>),
    /// One open session.
    Session(SessionId),
}

/// Replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameView {
    /// To `Status`.
    Status(StatusView),
    /// To `AllRenderers` and `Renderers`.
    Renderers(Vec<RendererView>),
    /// To `Session`; `None` when it is not open.
    Session(Option<SessionView>),
}

/// All in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusView {
    /// Workers by state.
    pub renderers: Vec<(RendererState, u64)>,
    /// Removed workers that keep calling (S6).
    pub zombies: u64,
    /// Changes of state since the term began.
    pub transitions: Vec<((RendererState, RendererState), u64)>,
    /// Open sessions by status.
    pub sessions: Vec<(SessionStatus, u64)>,
    /// The largest maxQueueRatio of all workers' latest progress (S7).
    pub queue_depth: Ratio,
    /// Between PauseAll and ResumeAll (S6).
    pub paused: bool,
    /// The first id never granted (S12).
    pub next_id: u64,
    /// The number of the next grant (S12).
    pub next_chunk: u64,
    /// Waiting ranges that were given back.
    pub returned: u64,
    /// Live assignments.
    pub live: u64,
}

/// A worker as memory knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RendererView {
    pub id: Name,
    pub state: RendererState,
    /// Removed, and still calling (S6).
    pub zombie: bool,
    /// Time when it was last heard.
    pub last_heartbeat: Option<Timestamp>,
    /// As it last said.
    pub queue_ratio: Ratio,
    /// As its latest progress said.
    pub max_queue_ratio: Option<Ratio>,
    /// As it last said.
    pub gpu_usage: Option<Ratio>,
    /// As it last said.
    pub last_frame: Option<u64>,
    /// Its share of the full frame rate.
    pub pressure: Pressure,
    /// Frames per 1000 seconds, as its completed ranges tell.
    pub rate: Option<u64>,
    /// Losses and failures that count (S8).
    pub failures: u32,
    /// Tasks it takes at a time.
    pub slots: u32,
    /// Its live assignments.
    pub tasks: Vec<LiveTask>,
}

/// A live assignment as memory knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTask {
    pub id: FrameTaskId,
    pub range: FrameRange,
    /// Assigned or running; or, without a worker, pending or lost.
    pub status: FrameTaskStatus,
    /// Its holder.
    pub worker: Option<Name>,
    pub attempt: u16,
    pub ids: Option<IdRange>,
    /// Frames made so far.
    pub processed: u64,
    /// Frames dropped so far.
    pub dropped: u64,
    pub granted_at: Timestamp,
}

/// An open session as memory knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionView {
    pub status: SessionStatus,
    /// All frames are done; the manifest is being written.
    pub merging: bool,
    /// Frames done.
    pub completed_frames: u64,
    /// Frames not cut yet.
    pub uncut: Vec<FrameRange>,
    /// Ranges that were cut and are not done.
    pub tasks: Vec<LiveTask>,
    /// Frames that were given up (S26b).
    pub failed: Vec<FrameRange>,
    /// Frames per 1000 seconds that the workers at it make together, as their completed ranges tell.
    pub rate: u64,
}
