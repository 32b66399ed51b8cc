//! Why a job of the pool is not done yet.
#![allow(missing_docs, reason = "the fields are named for what they hold")]

use super::PoolJobStatus;

/// The one thing a job waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolCause {
    /// It is over.
    Ended { status: PoolJobStatus },
    /// It is being done: so many have it.
    Running { assignments: u32 },
    /// No worker has ever been registered.
    NoWorkers,
    /// No worker stands in its region.
    NoWorkerInRegion { region: alloc::boxed::Box<str> },
    /// No worker has what it requires.
    RequirementsUnmet,
    /// Those who could do it are not there: offline, draining or banned.
    WorkersAway { offline: u32, draining: u32, banned: u32 },
    /// Those who could do it have their hands full.
    WorkersBusy { workers: u32 },
    /// It needs workers of more owners than there are (P15).
    TooFewOwners { owners: u32, needed: u32 },
    /// Somebody could do it, and has not asked yet.
    WaitingForPoll { workers: u32 },
}
