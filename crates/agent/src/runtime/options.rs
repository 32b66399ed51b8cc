//! The options of an agent, and the reasons why it cannot start.

use crate::core::SnapshotError;
use muster_contract_nodes::NotACallback;
use muster_model::Timestamp;
use muster_spool::SpoolError;
use std::{fmt, io, path::PathBuf, sync::Arc};

/// The options of an agent.
#[derive(Clone)]
pub struct Options {
    /// The name of this PC.
    pub node: String,
    /// How many tasks run at once (N18).
    pub slots: u32,
    /// The spool's directory; a `work` directory and a lock live beside it there.
    pub spool: PathBuf,
    /// How large a file of the spool grows before the next is begun.
    pub segment_bytes: u64,
    /// Names the spool if it is new: random, so that no two spools ever share one.
    pub new_spool_id: String,
    /// Tells the time; never less than it was.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Options {
    /// The file that guards of programs lock while they live.
    #[must_use]
    pub fn guard_lock(&self) -> PathBuf {
        self.spool.join("guards.lock")
    }

    /// Where tasks leave files while they run.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.spool.join("work")
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("node", &self.node)
            .field("slots", &self.slots)
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}

/// Why an agent cannot run.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The spool does not open.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The spool holds what no agent of this version wrote.
    #[error("entry {0} of the spool: {1}; use the muster that wrote it to empty the spool")]
    Entry(u64, NotACallback),
    /// The spool's snapshot is none of this version.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Something on this PC does not work.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What came of it.
        error: io::Error,
    },
}
