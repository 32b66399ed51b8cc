//! Reason why a session, a range of it or one of its workers stands still (Q16).
#![allow(missing_docs, reason = "the fields are named for what they hold")]

use super::{FrameTaskStatus, SessionId, SessionStatus};
use crate::{Name, Timestamp};
use alloc::boxed::Box;

/// Reason why something of contract S waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameCause {
    /// Nothing: so many of the session's ranges are at workers.
    SessionRunning { ranges: u32 },
    /// All frames are done; the manifest is being written.
    SessionMerging,
    /// The session is over.
    SessionEnded { status: SessionStatus },
    /// An operator paused the session.
    SessionPaused { session: SessionId },
    /// An operator paused all workers.
    FarmPaused,
    /// Older sessions have frames to give out, and come first.
    SessionQueuedBehind { session: SessionId, ahead: u32 },
    /// No worker is registered.
    NoRenderers,
    /// All workers are silent.
    RenderersLost { workers: u32 },
    /// All workers wait for an operator's approval.
    RenderersQuarantined { workers: u32 },
    /// Some workers are silent, the others in quarantine.
    NoneCapable { lost: u32, quarantined: u32 },
    /// The workers that may work have not sent a good heartbeat yet.
    RenderersUnheard { workers: u32 },
    /// The workers that may work have their slots full.
    RenderersBusy { workers: u32 },
    /// The workers with a free slot have full queues.
    RenderersPressed { workers: u32 },
    /// The workers with a free slot could not be reached by push, and are left alone for a while.
    RenderersResting { workers: u32 },
    /// Somebody could take a range, and has not asked yet.
    AwaitingRenderer { workers: u32 },
    /// The range was given out; its worker has not confirmed it.
    RangeUnconfirmed { worker: Name, attempt: u16, since: Timestamp },
    /// The range's worker is at it.
    RangeRunning { worker: Name, attempt: u16, processed: u64, frames: u64 },
    /// An earlier attempt of the range ended without a result; the next waits for a worker to ask.
    RangeReplay { worker: Name, attempt: u16, is_loss: bool },
    /// The range failed for its last worker and waits for another one for a while (S26b).
    RangeAvoided { worker: Name, attempt: u16, until: Timestamp },
    /// The range is over.
    RangeEnded { status: FrameTaskStatus },
    /// The worker fell silent.
    RendererLost { since: Timestamp, reason: Option<Box<str>> },
    /// The worker is kept away from work until an operator approves it.
    RendererQuarantined { since: Timestamp, reason: Option<Box<str>> },
    /// The worker was taken off the list.
    RendererRemoved { since: Timestamp, reason: Option<Box<str>> },
    /// The worker is unwell and gets little work.
    RendererDegraded { since: Timestamp, reason: Option<Box<str>> },
    /// The worker has not sent a good heartbeat yet, and gets no work before.
    RendererUnheard { since: Timestamp },
    /// The worker's queue is full.
    RendererPressed,
    /// The worker could not be reached by push, and is left alone for a while.
    RendererResting { until: Timestamp },
    /// Nothing: the worker is at so many ranges.
    RendererRunning { ranges: u32 },
    /// No session has frames to give out.
    NoFrames { sessions: u32 },
    /// There are frames for the worker, and it has not asked yet.
    RendererIdle { session: SessionId },
}

impl FrameCause {
    /// The rule that says so and the code scripts match on.
    #[must_use]
    pub const fn rule_and_code(&self) -> (&'static str, &'static str) {
        match self {
            Self::SessionRunning { .. } => ("S3", "session_running"),
            Self::SessionMerging => ("S22", "session_merging"),
            Self::SessionEnded { .. } => ("S26", "session_ended"),
            Self::SessionPaused { .. } => ("S26", "session_paused"),
            Self::FarmPaused => ("S6", "farm_paused"),
            Self::SessionQueuedBehind { .. } => ("S26", "session_queued_behind"),
            Self::NoRenderers => ("S1", "no_sim_workers"),
            Self::RenderersLost { .. } => ("S8", "sim_workers_lost"),
            Self::RenderersQuarantined { .. } => ("S9", "sim_workers_quarantined"),
            Self::NoneCapable { .. } => ("S8", "no_capable_worker"),
            Self::RenderersUnheard { .. } => ("S8", "sim_workers_unheard"),
            Self::RenderersBusy { .. } => ("S3", "sim_workers_busy"),
            Self::RenderersPressed { .. } => ("S10", "sim_workers_degraded"),
            Self::RenderersResting { .. } => ("S3", "sim_workers_unreachable"),
            Self::AwaitingRenderer { .. } => ("S3", "awaiting_sim_worker"),
            Self::RangeUnconfirmed { .. } => ("S3", "range_unconfirmed"),
            Self::RangeRunning { .. } => ("S4", "range_running"),
            Self::RangeReplay { .. } => ("S16", "range_awaiting_replay"),
            Self::RangeAvoided { .. } => ("S26b", "range_awaiting_another_worker"),
            Self::RangeEnded { .. } => ("S5", "range_ended"),
            Self::RendererLost { .. } => ("S8", "sim_worker_lost"),
            Self::RendererQuarantined { .. } => ("S9", "sim_worker_quarantined"),
            Self::RendererRemoved { .. } => ("S6", "sim_worker_removed"),
            Self::RendererDegraded { .. } => ("S8", "sim_worker_degraded"),
            Self::RendererUnheard { .. } => ("S8", "sim_worker_unheard"),
            Self::RendererPressed => ("S10", "sim_worker_queue_full"),
            Self::RendererResting { .. } => ("S3", "sim_worker_unreachable"),
            Self::RendererRunning { .. } => ("S3", "sim_worker_running"),
            Self::NoFrames { .. } => ("S3", "no_frames"),
            Self::RendererIdle { .. } => ("S3", "sim_worker_idle"),
        }
    }
}
