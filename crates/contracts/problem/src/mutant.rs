//! Planted bugs in parsing and phrasing: each breaks one rule, and the fault simulator must find every one.

#[cfg(feature = "mutants")]
use std::cell::Cell;

/// Declares the bugs and the list of all of them.
macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A bug that can be switched on where the feature `mutants` is compiled in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum WireMutant {
            $($(#[$doc])* $name,)*
        }

        impl WireMutant {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];
        }
    };
}

mutants! {
    /// A task ends one frame late (S3).
    FrameRangeOneTooLong,
    /// The attempt of a completion is not read (S5).
    CompletionAttemptNotRead,
    /// The response to a heartbeat lacks the epoch (S2).
    HeartbeatEpochLeftOut,
    /// A worker does not read the order to stop a task (S2).
    StopOrderNotRead,
    /// The completion of a lost task is refused with 422 instead of 409 (S5).
    NotHolderSaidUnprocessable,
    /// Dropped frames in a report of progress count as none (S4).
    DroppedFramesNotRead,
    /// A rebind is read with the chunk after the one it names (S19).
    RebindChunkOneTooHigh,
    /// A pull's answer lacks the attempt of a job (N1).
    AttemptLeftOut,
    /// The fence of a report is not read (N6b).
    LeaseTokenNotRead,
    /// A stale report is answered as a duplicate (N6b).
    StaleSaidDuplicate,
    /// A report of devices counts as none (N1).
    DevicesNotRead,
    /// A pull's answer lacks the jobs to stop (N1).
    StopLeftOut,
    /// A failed task is read as one that succeeded (N12).
    FailureReadAsSuccess,
    /// A pull is read as asking for one job more (N1).
    MaxJobsOffByOne,
    /// An event id that was used for another event is answered 503, as if it would be taken later (N5).
    IdConflictSaidBusy,
    /// The results of several events stand in another order than the events (N25).
    BatchResultsReversed,
    /// A pull's answer does not tell what else the coordinator can do (N1).
    FeaturesLeftOut,
    /// The refusal of an identical submission has no header (P8).
    PoolIdenticalHeaderDropped,
    /// `Assignment already submitted` has the status of a mistake (P8).
    PoolAlreadySubmittedStatus,
    /// An assignment has no nonce (P6).
    PoolNonceDropped,
    /// The hash of an output counts as absent (P7).
    PoolOutputHashIgnored,
    /// The error of a result counts as absent (P8).
    PoolErrorMessageIgnored,
    /// A job without `max_attempts` is tried once (P13).
    PoolMaxAttemptsDefault,
    /// The highest priority is refused (P13).
    PoolPriorityLimit,
    /// Every worker has one slot (P3).
    PoolSlotsIgnored,
    /// A call for work asks for one assignment more (P19).
    PoolWorkMaxOffByOne,
    /// A refused result among several is not marked as identical (P19).
    PoolItemIdenticalDropped,
    /// The `Idempotency-Key` of jobs is not read (P13).
    PoolKeyNotRead,
    /// The limit of a job in seconds is read as milliseconds (P13).
    PoolTimeoutReadAsMillis,
    /// The ids of a batch begin one too late (P18).
    PoolBatchIdsOffByOne,
    /// The cancellation of an ended job is refused with 404 (P13).
    PoolJobFinishedSaidMissing,
    /// A worker is shown without the reason of its ban (P14).
    PoolBanReasonLeftOut,
    /// The `Idempotency-Key` of a run is not read (Q15).
    RunKeyNotRead,
    /// The longest `timeoutMs` of a run is refused (Q15).
    RunTimeoutLimit,
    /// A run that was cancelled is said to run (Q7).
    CancelledSaidRunning,
    /// The cancellation of an ended run is refused with 404 (Q7).
    RunEndedSaidMissing,
    /// A retry does not read which failures are meant: all failed devices get another run (Q15).
    RetryReasonNotRead,
    /// A device is shown without its labels (Q15).
    DeviceLabelsLeftOut,
    /// A name that nobody has is not warned of (Q15).
    UnknownNameNotWarned,
    /// `lease_minutes` is read as seconds (Q14).
    LeaseMinutesReadAsSeconds,
    /// A claim without `max_to_claim` gets nothing (Q14).
    MaxToClaimDefault,
    /// A claim may ask for one row more than there may be (Q14).
    MaxToClaimLimit,
    /// A claimed row does not show when its lease ends (Q14).
    LeaseEndLeftOut,
    /// The renewal of a row that does not exist is refused with 404 instead of `false` (Q14).
    UnknownLeaseSaidMissing,
    /// A session without `qualityMode` is relaxed (S26).
    QualityModeDefault,
    /// A session does not show the frames that are missing (S26b).
    SkippedFramesLeftOut,
    /// The frames of a retry are not read: all that failed are rendered again (S26b).
    RetriedFramesNotRead,
    /// A session may have one frame more than the limit (S26).
    TotalFramesLimit,
    /// An operator is told 410 of a worker that was removed, as the worker itself is (S6).
    RemovedSaidGoneToOperator,
    /// The signature of a batch may cover leaves that lack their prefix (P20).
    PoolLeafPrefixIgnored,
    /// A result's place in its batch is that of the next one (P20).
    PoolBatchIndexOffByOne,
    /// One result of a batch is taken though the signature is invalid (P20).
    PoolForgedBatchTakenOnce,
}

/// Reports whether a bug is switched on in this thread. Always `false` in a shipped binary.
#[must_use]
pub fn planted(mutant: WireMutant) -> bool {
    #[cfg(feature = "mutants")]
    return PLANTED.with(|planted| planted.get() == Some(mutant));
    #[cfg(not(feature = "mutants"))]
    {
        let _ = mutant;
        false
    }
}

/// Switches a bug on in this thread, or all of them off.
#[cfg(feature = "mutants")]
pub fn plant(mutant: Option<WireMutant>) {
    PLANTED.with(|planted| planted.set(mutant));
}

#[cfg(feature = "mutants")]
thread_local! {
    static PLANTED: Cell<Option<WireMutant>> = const { Cell::new(None) };
}
