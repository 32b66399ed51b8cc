//! Where things of a session stand.

/// Where a worker stands (S8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RendererState {
    /// Known, and not yet known to be well.
    Registered,
    /// Its last heartbeats were fine.
    Healthy,
    /// It reports errors, its queue is full, or its heartbeats take long.
    Degraded,
    /// It fell silent.
    Lost,
    /// Kept away from work until an operator approves it.
    Quarantined,
    /// Taken off the list; shown as zombie while it keeps calling, or never answers (S6).
    Removed,
}

impl RendererState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Registered, Self::Healthy, Self::Degraded, Self::Lost, Self::Quarantined, Self::Removed];

    /// The word on the wire, in tables and in metric labels.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registered => "Registered",
            Self::Healthy => "Healthy",
            Self::Degraded => "Degraded",
            Self::Lost => "Lost",
            Self::Quarantined => "Quarantined",
            Self::Removed => "Removed",
        }
    }

    /// Whether it may hold a lease (invariant 11).
    #[must_use]
    pub const fn may_work(self) -> bool {
        matches!(self, Self::Registered | Self::Healthy | Self::Degraded)
    }
}

/// Where a session stands (S26).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionStatus {
    /// Its frames are given out; or all are done and its manifest is being written.
    Running,
    /// What is held may be completed, nothing more is given out.
    Paused,
    /// The manifest is written. A relaxed session may lack frames, which it names (S23b).
    Completed,
    /// A strict session ended without some of its frames (S23b, S26b).
    Failed,
    /// Ended on request.
    Cancelled,
}

impl SessionStatus {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Running, Self::Paused, Self::Completed, Self::Failed, Self::Cancelled];

    /// Whether nothing will change any more.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The word on the wire and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Where a range stands (S20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameTaskStatus {
    /// Waiting.
    Pending,
    /// Given to a worker that has not confirmed it.
    Assigned,
    /// Its worker is at it.
    Running,
    /// Done; its fragment is accepted.
    Completed,
    /// Waiting for another worker, because the one before was lost.
    Lost,
    /// Given up: a single frame used up its attempts (S26b), or the manifest skips the range (S23b).
    Failed,
    /// Ended with its session.
    Cancelled,
}

impl FrameTaskStatus {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Assigned,
        Self::Running,
        Self::Completed,
        Self::Lost,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word on the wire and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Assigned => "assigned",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Lost => "lost",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing will change any more, unless an operator retires its chunk or retries it.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// What became of granted ids (S13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChunkState {
    /// Travels with a live lease.
    Live,
    /// Its fragment was accepted.
    Used,
    /// Never to be used again.
    Retired,
}

impl ChunkState {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Live, Self::Used, Self::Retired];

    /// The word in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Used => "used",
            Self::Retired => "retired",
        }
    }
}

/// Why an assignment ended without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RangeEnd {
    /// Its worker fell silent (S15).
    WorkerLost,
    /// Its worker reported a failure (S5b).
    Failed,
    /// It was not heard of for too long though its worker lives.
    Stalled,
    /// A completion with dropped frames was refused (S26).
    FramesDropped,
    /// Its worker could not be reached by push (S3).
    Unreachable,
    /// Its worker registered anew: the one before is gone (S1).
    Replaced,
    /// Its worker was removed (S6) or quarantined (S9).
    GivenBack,
    /// An operator retired its chunk (S17).
    Retired,
    /// Its session ended.
    SessionEnded,
    /// A new term began and it was running (S19).
    NewTerm,
}

impl RangeEnd {
    /// The word in tables, causes and feeds.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WorkerLost => "worker_lost",
            Self::Failed => "failed",
            Self::Stalled => "stalled",
            Self::FramesDropped => "frames_dropped",
            Self::Unreachable => "unreachable",
            Self::Replaced => "replaced",
            Self::GivenBack => "given_back",
            Self::Retired => "retired",
            Self::SessionEnded => "session_ended",
            Self::NewTerm => "new_term",
        }
    }

    /// Whether the range is shown as lost while it waits for another worker (S15, S19).
    #[must_use]
    pub const fn is_loss(self) -> bool {
        matches!(self, Self::WorkerLost | Self::Stalled | Self::Replaced | Self::NewTerm)
    }

    /// Whether the range failed: so many failures halve it (S26b).
    #[must_use]
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::Stalled | Self::FramesDropped)
    }

    /// Whether the range lost its worker: so many losses halve it (S8).
    #[must_use]
    pub const fn is_lost_worker(self) -> bool {
        matches!(self, Self::WorkerLost | Self::Replaced)
    }

    /// Whether it counts towards the attempts of the task (S8, S26b).
    #[must_use]
    pub const fn counts_against_task(self) -> bool {
        self.is_failure() || self.is_lost_worker()
    }

    /// Whether it counts towards the diagnosis of the worker (S8).
    #[must_use]
    pub const fn counts_against_worker(self) -> bool {
        matches!(self, Self::WorkerLost | Self::Failed | Self::Stalled)
    }
}

/// How a removed worker took its removal (S6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Removal {
    /// It has neither acknowledged nor called since.
    Waiting,
    /// It has acknowledged, called, removed itself or been lost before.
    Known,
    /// It stayed silent for too long: a zombie until it calls, acknowledges, or an operator confirms its files.
    Silent,
}

impl Removal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Known, Self::Silent];

    /// The word in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Known => "known",
            Self::Silent => "silent",
        }
    }
}

/// The kinds of lines in the diagnostics log (S20b).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiagnosticKind {
    /// A worker's own message (S4).
    Message,
    /// A worker changed its state: it was lost, quarantined or removed.
    Worker,
    /// An attempt ended without a result.
    Ended,
    /// A range went to another worker.
    Reassigned,
    /// A range was halved.
    Split,
    /// A frame was given up.
    GivenUp,
    /// Ids will never be used again.
    Retired,
    /// Files were moved to quarantine.
    Quarantined,
    /// The manifest would skip a range.
    Skipped,
    /// A client had failed frames rendered again.
    Retried,
}

impl DiagnosticKind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Message,
        Self::Worker,
        Self::Ended,
        Self::Reassigned,
        Self::Split,
        Self::GivenUp,
        Self::Retired,
        Self::Quarantined,
        Self::Skipped,
        Self::Retried,
    ];

    /// The word on the wire and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Worker => "worker",
            Self::Ended => "ended",
            Self::Reassigned => "reassigned",
            Self::Split => "split",
            Self::GivenUp => "given_up",
            Self::Retired => "retired",
            Self::Quarantined => "quarantined",
            Self::Skipped => "skipped",
            Self::Retried => "retried",
        }
    }
}

/// How much a worker is to slow down (S10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pressure {
    /// Full speed.
    Ok,
    /// A little slower.
    Caution,
    /// Slower.
    Slow,
    /// Stand still.
    Pause,
}

impl Pressure {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Caution => "caution",
            Self::Slow => "slow",
            Self::Pause => "pause",
        }
    }

    /// What is left of the frame rate, in percent.
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

/// What an entry of the quarantine holds (S15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuarantineKind {
    /// The files of a retired chunk.
    DroppedChunk,
    /// What a lost worker left that belongs to no chunk.
    Worker,
}

impl QuarantineKind {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DroppedChunk => "dropped_chunk",
            Self::Worker => "worker",
        }
    }
}
