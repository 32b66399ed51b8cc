//! Statuses of sessions, ranges and workers.

words! {
    /// State of a worker (S8).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum RendererState {
        /// Known, and not yet known to be well.
        Registered = "Registered",
        /// Its last heartbeats were fine.
        Healthy = "Healthy",
        /// It reports errors, its queue is full, or its heartbeats take long.
        Degraded = "Degraded",
        /// It fell silent.
        Lost = "Lost",
        /// Kept away from work until an operator approves it.
        Quarantined = "Quarantined",
        /// Taken off the list; shown as zombie while it keeps calling, or never answers (S6).
        Removed = "Removed",
    }
}

impl RendererState {
    /// True if it may hold a lease (invariant 11).
    #[must_use]
    pub const fn may_work(self) -> bool {
        matches!(self, Self::Registered | Self::Healthy | Self::Degraded)
    }
}

words! {
    /// Status of a session (S26).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SessionStatus {
        /// Its frames are given out; or all are done and its manifest is being written.
        Running = "running",
        /// Held tasks may be completed; nothing more is given out.
        Paused = "paused",
        /// The manifest is written. A relaxed session may lack frames, which it names (S23b).
        Completed = "completed",
        /// A strict session ended without some of its frames (S23b, S26b).
        Failed = "failed",
        /// Ended on request.
        Cancelled = "cancelled",
    }
}

impl SessionStatus {
    /// True if nothing will change any more.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

words! {
    /// Status of a range (S20).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum FrameTaskStatus {
        /// Waiting.
        Pending = "pending",
        /// Given to a worker that has not confirmed it.
        Assigned = "assigned",
        /// Its worker is at it.
        Running = "running",
        /// Done; its fragment is accepted.
        Completed = "completed",
        /// Waiting for another worker, because the one before was lost.
        Lost = "lost",
        /// Given up: a single frame used up its attempts (S26b), or the manifest skips the range (S23b).
        Failed = "failed",
        /// Ended with its session.
        Cancelled = "cancelled",
    }
}

impl FrameTaskStatus {
    /// True if nothing will change any more, unless an operator retires its chunk or retries it.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

words! {
    /// State of granted ids (S13).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ChunkState {
        /// Travels with a live lease.
        Live = "live",
        /// Its fragment was accepted.
        Used = "used",
        /// Never to be used again.
        Retired = "retired",
    }
}

words! {
    /// Reason why an assignment ended without a result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum RangeEnd {
        /// Its worker fell silent (S15).
        WorkerLost = "worker_lost",
        /// Its worker reported a failure (S5b).
        Failed = "failed",
        /// It was not heard of for too long though its worker lives.
        Stalled = "stalled",
        /// A completion with dropped frames was refused (S26).
        FramesDropped = "frames_dropped",
        /// Its worker could not be reached by push (S3).
        Unreachable = "unreachable",
        /// Its worker registered anew: the one before is gone (S1).
        Replaced = "replaced",
        /// Its worker was removed (S6) or quarantined (S9).
        GivenBack = "given_back",
        /// An operator retired its chunk (S17).
        Retired = "retired",
        /// Its session ended.
        SessionEnded = "session_ended",
        /// A new term began and it was running (S19).
        NewTerm = "new_term",
    }
}

impl RangeEnd {
    /// True if the range is shown as lost while it waits for another worker (S15, S19).
    #[must_use]
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::WorkerLost | Self::Stalled | Self::Replaced | Self::NewTerm)
    }

    /// True if the range failed: `split_after` failures halve it (S26b).
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Stalled | Self::FramesDropped)
    }

    /// True if the range lost its worker: `max_attempts` losses halve it (S8).
    #[must_use]
    pub const fn is_lost_worker(self) -> bool {
        matches!(self, Self::WorkerLost | Self::Replaced)
    }

    /// True if it counts towards the attempts of the task (S8, S26b).
    #[must_use]
    pub const fn counts_against_task(self) -> bool {
        self.is_failure() || self.is_lost_worker()
    }

    /// True if it counts towards the diagnosis of the worker (S8).
    #[must_use]
    pub const fn counts_against_worker(self) -> bool {
        matches!(self, Self::WorkerLost | Self::Failed | Self::Stalled)
    }
}

words! {
    /// Reaction of a removed worker to its removal (S6).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Removal {
        /// It has neither acknowledged nor called since.
        Waiting = "waiting",
        /// It has acknowledged, called, removed itself or been lost before.
        Known = "known",
        /// It stayed silent for too long: a zombie until it calls, acknowledges, or an operator confirms its files.
        Silent = "silent",
    }
}

words! {
    /// The kinds of lines in the diagnostics log (S20b).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum DiagnosticKind {
        /// A worker's own message (S4).
        Message = "message",
        /// A worker changed its state: it was lost, quarantined or removed.
        Worker = "worker",
        /// An attempt ended without a result.
        Ended = "ended",
        /// A range went to another worker.
        Reassigned = "reassigned",
        /// A range was halved.
        Split = "split",
        /// A frame was given up.
        GivenUp = "given_up",
        /// Ids will never be used again.
        Retired = "retired",
        /// Files were moved to quarantine.
        Quarantined = "quarantined",
        /// The manifest would skip a range.
        Skipped = "skipped",
        /// A client had failed frames rendered again.
        Retried = "retried",
    }
}

words! {
    /// Degree to which a worker must slow down (S10).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Pressure {
        /// Full speed.
        Ok = "ok",
        /// A little slower.
        Caution = "caution",
        /// Slower.
        Slow = "slow",
        /// Stand still.
        Pause = "pause",
    }
}

impl Pressure {
    /// Remaining frame rate, in percent.
    #[must_use]
    pub const fn percent(self) -> u32 {
        match self {
            Self::Ok => 100,
            Self::Caution => 90,
            Self::Slow => 70,
            Self::Pause => 0,
        }
    }
}

words! {
    /// Content of a quarantine entry (S15).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum QuarantineKind {
        /// The files of a retired chunk.
        DroppedChunk = "dropped_chunk",
        /// Files of a lost worker that belong to no chunk.
        Worker = "worker",
    }
}
