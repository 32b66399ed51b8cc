//! Reason why a job or a worker of the pool stands still (P15, Q16).
#![allow(missing_docs, reason = "the fields are named for what they hold")]

use super::{PoolJobId, PoolJobStatus, PoolWorkerId};
use crate::Timestamp;
use alloc::boxed::Box;

/// The one thing a job waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolCause {
    /// It is over.
    Ended { status: PoolJobStatus },
    /// It is being done: so many have it.
    Running { assignments: u32 },
    /// Whoever has it fell silent; it goes to another when the lease is over.
    LeaseOut { worker: PoolWorkerId, until: Timestamp },
    /// No worker has ever been registered.
    NoWorkers,
    /// No worker stands in its region.
    NoWorkerInRegion { region: Box<str> },
    /// No worker has what it requires.
    RequirementsUnmet,
    /// Those who could do it are not there: offline, draining or banned.
    WorkersAway { offline: u32, draining: u32, banned: u32 },
    /// Those who could do it have their hands full.
    WorkersBusy { workers: u32 },
    /// It needs workers of more owners than there are (P15).
    TooFewOwners { owners: u32, needed: u32 },
    /// A job of a higher priority goes first (P14).
    HigherPriorityFirst { job: PoolJobId, priority: u8 },
    /// Clients take turns, and another is next (P14).
    ClientsTurn { job: PoolJobId },
    /// An older job of the same client goes first (P14).
    OlderJobFirst { job: PoolJobId },
    /// Somebody could do it, and has not asked yet.
    WaitingForPoll { workers: u32 },
}

/// Reason why a worker of the pool does nothing, or what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberCause {
    /// It is shut out.
    Banned { reason: Box<str> },
    /// It is silent.
    Offline { since: Timestamp },
    /// It gets no more work on request.
    Draining { running: u32 },
    /// It has as many jobs as it takes.
    Full { running: u32, slots: u32 },
    /// Nothing: it is at so many jobs.
    Running { running: u32, slots: u32 },
    /// No job waits for anybody.
    NoJobs,
    /// Jobs wait, and none of them is for it.
    NoMatchingJob { waiting: u64 },
    /// A job waits for it, and it has not asked.
    Idle { job: PoolJobId },
}

impl PoolCause {
    /// The rule that says so and the code scripts match on.
    #[must_use]
    pub const fn rule_and_code(&self) -> (&'static str, &'static str) {
        match self {
            Self::Ended { .. } => ("P13", "job_ended"),
            Self::Running { .. } => ("P6", "job_running"),
            Self::LeaseOut { .. } => ("P5", "lease_out"),
            Self::NoWorkers => ("P3", "no_workers"),
            Self::NoWorkerInRegion { .. } => ("P14", "no_worker_in_region"),
            Self::RequirementsUnmet => ("P14", "requirements_unmet"),
            Self::WorkersAway { .. } => ("P14", "workers_away"),
            Self::WorkersBusy { .. } => ("P6", "workers_busy"),
            Self::TooFewOwners { .. } => ("P15", "too_few_owners"),
            Self::HigherPriorityFirst { .. } => ("P14", "higher_priority_first"),
            Self::ClientsTurn { .. } => ("P14", "clients_turn"),
            Self::OlderJobFirst { .. } => ("P14", "older_job_first"),
            Self::WaitingForPoll { .. } => ("P6", "waiting_for_poll"),
        }
    }
}

impl MemberCause {
    /// The rule that says so and the code scripts match on.
    #[must_use]
    pub const fn rule_and_code(&self) -> (&'static str, &'static str) {
        match self {
            Self::Banned { .. } => ("P15", "pool_worker_banned"),
            Self::Offline { .. } => ("P5", "pool_worker_offline"),
            Self::Draining { .. } => ("P14", "pool_worker_draining"),
            Self::Full { .. } => ("P6", "pool_worker_full"),
            Self::Running { .. } => ("P6", "pool_worker_running"),
            Self::NoJobs => ("P14", "no_jobs"),
            Self::NoMatchingJob { .. } => ("P14", "no_matching_job"),
            Self::Idle { .. } => ("P6", "pool_worker_idle"),
        }
    }
}
