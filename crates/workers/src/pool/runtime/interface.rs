//! The options of a worker, its status, and the reasons why it cannot start.

use super::super::{
    KeyFileError,
    core::{Counts, Status},
    wire::{Introduction, WireError},
};
use muster_model::{Millis, Timestamp};
use muster_spool::SpoolError;
use muster_worker_kit::Text;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// The options of a worker.
#[derive(Clone)]
pub struct Options {
    /// Who it is.
    pub who: Introduction,
    /// How many assignments it executes at once.
    pub slots: u32,
    /// How often it says that it lives.
    pub heartbeat: Millis,
    /// How long what runs may take when the worker leaves.
    pub grace: Millis,
    /// The spool's directory; a `work` directory and a lock live beside it there.
    pub spool: PathBuf,
    /// Tells the time; never less than it was.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Options {
    /// The file that guards of programs lock while they live.
    #[must_use]
    pub fn guard_lock(spool: &Path) -> PathBuf {
        spool.join("guards.lock")
    }

    /// Where programs run.
    #[must_use]
    pub fn scratch(spool: &Path) -> PathBuf {
        spool.join("work")
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("who", &self.who)
            .field("slots", &self.slots)
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}

/// The status of a worker, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What it is called.
    pub name: Text,
    /// In a word; the worst that is true.
    pub state: &'static str,
    /// Assignments in execution.
    pub running: usize,
    /// How many may be.
    pub slots: u32,
    /// Results that the server does not have yet.
    pub spooled: usize,
    /// What became of results.
    pub counts: Counts,
}

impl Report {
    pub(super) fn new(name: &Text, slots: u32, status: &Status) -> Self {
        Self {
            name: name.clone(),
            state: state(status),
            running: status.running,
            slots,
            spooled: status.spooled,
            counts: status.counts,
        }
    }
}

const fn state(status: &Status) -> &'static str {
    if status.leaving {
        "leaving"
    } else if !status.can_store {
        "disk full"
    } else if !status.is_able {
        "cannot execute"
    } else if !status.reachable {
        "server away"
    } else if status.worker.is_none() {
        "starting"
    } else {
        "online"
    }
}

/// Why a worker cannot run.
#[derive(Debug, thiserror::Error)]
pub enum PoolWorkerError {
    /// Another worker has the spool.
    #[error(
        "the spool {0} is in use by another worker; stop that one first, or choose another --spool directory"
    )]
    InUse(String),
    /// The spool does not open.
    #[error(transparent)]
    Spool(SpoolError),
    /// There is no key.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The spool holds what no worker of this version wrote.
    #[error("entry {0} of the spool is no result: {1}; use the muster that wrote it to empty the spool")]
    Entry(u64, WireError),
}

impl From<SpoolError> for PoolWorkerError {
    fn from(error: SpoolError) -> Self {
        match error {
            SpoolError::InUse { directory } => Self::InUse(directory),
            other => Self::Spool(other),
        }
    }
}
