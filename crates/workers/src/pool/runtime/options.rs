//! What a worker is told at its start.

use super::super::wire::Introduction;
use muster_model::{Millis, Timestamp};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What a worker is told at its start.
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
