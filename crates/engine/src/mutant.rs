//! Planted bugs: each breaks one rule, and the checks must find every one.

/// Declares the bugs, and the list of them all.
macro_rules! mutants {
    ($(#[$meta:meta])* pub enum $type:ident { $($(#[$doc:meta])* $bug:ident,)* }) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])* $bug,)*
        }

        impl $type {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$bug),*];
        }
    };
}

mutants! {
    /// A bug that can be switched on where the feature `mutants` is compiled in.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Mutant {
        /// A report of a dead attempt is taken for the live one (N6b).
        FenceNotChecked,
        /// One slot too many is believed to be free (Q3).
        SlotFreedTwice,
        /// The id of a report is not remembered with its effect (N5).
        ReportForgotten,
        /// After a start the ids in the store are taken for unused ones (N5).
        StoredReportsForgotten,
        /// A refused event of a batch stops the ones after it (N25).
        BatchStopsAtRefusal,
        /// An event that stands twice in a batch takes effect twice (N25).
        BatchRepeatTaken,
        /// A resend with a new timestamp is taken for another event (N5).
        TimestampInSubject,
        /// The clock of the first attempt goes on for the second (Q9).
        RetryClockNotReset,
        /// A lane that is leased counts as free (Q5).
        LaneNotExclusive,
        /// A lane is served again by the job that served it (Q5).
        LaneServedTwice,
        /// The newest job becomes active (Q2).
        YoungestFirst,
        /// The number of attempts is not bounded (Q10).
        RetriesForEver,
        /// An attempt lost with its silent PC is not marked as timed out (Q9b).
        SilenceIsNoTimeout,
        /// A lease never ends by silence (N15b).
        LeaseOutlivesSilence,
        /// Lanes long away are not closed (Q6).
        GraceForgotten,
        /// Cancelling frees the lanes of running tasks at once (Q7).
        CancelFreesLanes,
        /// Handing a job out again starts its clock anew (N2, Q9).
        RedeliveryResetsClock,
        /// A claim is prolonged for whoever asks (Q14).
        StrangerRenews,
        /// The row of a task that waits again is not given to the store (invariant 5).
        RetryNotWritten,
        /// Waiting requests are not looked at when work appears (invariant 13).
        WakeLost,
        /// A mass dropout costs attempts (N17).
        DropoutBurnsAttempt,
        /// A lane out of service is put back by nobody (Q11): the job that broke it goes on with it.
        FailedLaneStaysEligible,
        /// An unconfirmed job is forgotten instead of handed out again (N2).
        RedeliveryForgotten,
        /// A frame that fails everywhere is never given up (S26b).
        PoisonForgiven,
        /// A range that keeps failing is never halved: all of it is given up for one bad frame (S26b).
        NeverSplit,
        /// The failures of one range quarantine a worker that completes other ranges (S26b).
        RangeBlamesWorker,
        /// A session is completed although its manifest skips frames (S23b).
        SkipHidden,
        /// A manifest that was overtaken by a retry ends its session (S23b).
        OldManifestTaken,
        /// A worker gets work before its first good heartbeat (S8).
        UnheardGivenWork,
        /// A worker in quarantine keeps what it holds (S9).
        QuarantineKeepsLease,
        /// Tasks are given out between PauseAll and ResumeAll (S6).
        PauseIgnored,
        /// A range that is given out again keeps its ids (S13).
        ChunkReused,
        /// The result of an attempt that is over counts (S5).
        LateCompletionTaken,
        /// A strict session takes dropped frames (S26).
        StrictForgotten,
        /// A silent assignment of a living worker is waited for without end.
        StallIgnored,
        /// A worker never becomes Lost (S8).
        SilenceIgnored,
        /// The ids of an attempt that is over stay live (S13).
        ChunkNotRetired,
        /// Granted ids are not given to the store (S12).
        AllocatorNotWritten,
        /// A restart forgets the further ids of an attempt (S13).
        ExtraIdsForgotten,
        /// Replays are not written down (S16).
        ReplayForgotten,
        /// Waiting requests of workers are not looked at when frames appear (invariant 13).
        AskerNotWoken,
        /// A task whose answer was lost is not given again (S3).
        UnconfirmedForgotten,
        /// Another body for an accepted attempt is accepted as well (S5).
        SecondBodyTaken,
        /// A lost worker keeps what it holds (S15).
        LostKeepsRange,
        /// A lost worker that asks is given work (S8).
        LostGivenWork,
        /// A quarantined worker may register again (S9).
        QuarantinedRegisters,
        /// Ranges of an earlier incarnation are not given back (S1).
        IncarnationKeepsRange,
        /// Assignments of an earlier term go on as if nothing had been (S19).
        TermForgotten,
        /// A restart forgets which files have to be moved (S15).
        MoveForgotten,
        /// A restart forgets which manifests have to be written (S21).
        MergeForgotten,
        /// A completed range whose ids are retired is not done anew (S17).
        RetiredResultKept,
        /// However often a worker is lost or fails, it goes on (S8).
        DiagnosisForgotten,
        /// A worker is not told what to stop (S2).
        StopForgotten,
        /// Nothing is pushed to those who wait for that (S3).
        PushForgotten,
        /// A worker that should pause is given work (S10).
        PressureIgnored,
        /// A degraded worker gets as much as a healthy one (S10).
        DegradedGetsAll,
        /// The same id with another body is taken for the same session (S26).
        AnySessionBody,
        /// Dropped frames that progress told of are forgotten (S26).
        DropsForgotten,
        /// The files of a late completion stay where they are (S5).
        LateFilesLeft,
        /// The first fine heartbeat makes healthy (S8).
        HealthyAtOnce,
        /// A degraded worker is healthy again with the next fine heartbeat (S8).
        RecoversAtOnce,
        /// A push that is not answered is tried again without end (S3).
        PushForEver,
        /// A worker that is shut out keeps what it holds (P14, invariant 11).
        BanKeepsLease,
        /// A result counts whatever its nonce (P8).
        NonceIgnored,
        /// The lease of a silent worker never ends (P5).
        PoolLeaseForEver,
        /// A worker of the pool is given more than its slots (P14).
        PoolSlotsIgnored,
        /// A job of the pool fails with its first attempt (P8).
        PoolFailsEarly,
        /// One vote is enough (P15).
        MinorityWins,
        /// A result that was taken is not remembered until it can be looked up (P8).
        ResultForgotten,
        /// An owner may do a redundant job twice (P15).
        OwnerVotesTwice,
        /// A heartbeat renews what was over (P5).
        LeaseRevived,
        /// All jobs of the pool are of one priority (P14).
        PoolPriorityIgnored,
        /// A client that was served is not put behind the others (P14).
        PoolTurnsIgnored,
        /// A job is given to workers of any region (P14).
        PoolRegionIgnored,
        /// Waiting requests of the pool's workers are not looked at when jobs appear (invariant 13).
        PoolWakeLost,
        /// Without a majority everybody has dissented (P15).
        DissentWithoutMajority,
        /// A restart forgets what was said of a redundant job (P15).
        VotesForgotten,
        /// A job that was handed in is not given to the store (invariant 5).
        PoolJobNotWritten,
        /// An assignment that was taken back counts as an attempt (P14).
        RevokedCosts,
        /// A worker that is drained is given work (P14).
        PoolDrainIgnored,
        /// The key of a submission is not remembered until it can be looked up (P13).
        PoolKeyForgotten,
        /// That an assignment was started is not given to the store (P6).
        StartForgotten,
        /// A job's own limit is not followed (P5).
        PoolLimitIgnored,
        /// A result counts whatever key it is signed with (P8).
        ForeignKeyTaken,
        /// However often a worker dissents, it goes on (P15).
        DissentForgiven,
        /// The hash of a result is never compared with its output (P11).
        HashNotVerified,
        /// The hash that a worker declares is its vote, whatever its output is (P15).
        DeclaredHashTrusted,
        /// A worker that knows the nonce may submit a result for another worker's assignment (P8).
        AnothersResultTaken,
        /// A worker of the pool never becomes offline (P5).
        PoolSilenceIgnored,
        /// A slot that was dealt with is fired again (Q17).
        SlotFiredAgain,
        /// That a slot was fired is not given to the store (Q17).
        SlotNotWritten,
    }
}
