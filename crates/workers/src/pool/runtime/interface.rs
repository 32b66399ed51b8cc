//! A worker as people see it: its options, its status and its log.

use super::super::{
    KeyFileError,
    core::{Counts, Note, Status, Submitted},
    wire::Introduction,
};
use muster_contract_pool::ReadError;
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
    Entry(u64, ReadError),
}

impl From<SpoolError> for PoolWorkerError {
    fn from(error: SpoolError) -> Self {
        match error {
            SpoolError::InUse { directory } => Self::InUse(directory),
            other => Self::Spool(other),
        }
    }
}

/// Logs a note of the core.
pub(super) fn log(note: &Note) {
    match note {
        Note::Away => tracing::warn!("the server does not answer; results are kept, and it is tried again"),
        Note::Back => tracing::info!("the server answers again"),
        Note::Found { worker, last_seen } => {
            tracing::info!(worker, last_seen = last_seen.as_deref(), "the server knows this worker");
        }
        Note::Registered { worker } => tracing::info!(worker, "registered"),
        Note::OtherSlots { theirs } => tracing::warn!(
            theirs,
            "the worker was registered with another number of slots, and is given no more at once than those"
        ),
        Note::KeyReplaced => tracing::info!("the key is replaced"),
        Note::KeyNotReplaced { why } => {
            tracing::error!(%why, "the new key is not in its place; trying again")
        }
        Note::Resumed { assignments } => {
            tracing::info!(assignments, "what was started before and has no result is executed again");
        }
        Note::Unable { assignment, why } => tracing::error!(
            assignment, %why, "this machine cannot execute: nothing more is taken, and it is tried again"
        ),
        Note::Dropped { assignment } => {
            tracing::warn!(
                assignment,
                "the server has this no longer: cancelled, or decided by others; it is ended"
            );
        }
        Note::Refused(refusal) => {
            tracing::warn!(status = refusal.status, detail = %refusal.detail, "a call was refused");
        }
        Note::Taken { assignment, error, how } => taken(*assignment, error.as_deref(), *how),
        Note::SetAside { assignment, refusal } => tracing::error!(
            assignment, status = refusal.status, detail = %refusal.detail,
            "the server refused a result for good; it was set aside: see `muster pool-worker aside`"
        ),
    }
}

fn taken(assignment: u64, error: Option<&str>, how: Submitted) {
    match (how, error) {
        (Submitted::Now, None) => tracing::info!(assignment, "completed"),
        (Submitted::Now, Some(error)) => tracing::warn!(assignment, error = shortened(error), "failed"),
        (Submitted::Before, _) => tracing::info!(assignment, "the server had this result already"),
    }
}

/// One line with both ends of a text: what failed stands at the beginning, and why often at the end.
fn shortened(text: &str) -> String {
    let line: Vec<char> = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.len() {
        0..=SHORT_CHARS_MAX => line.into_iter().collect(),
        length => {
            let (first, last) = (&line[..SHORT_CHARS_MAX / 2], &line[length - SHORT_CHARS_MAX / 2..]);
            first.iter().chain(&[' ', '…', ' ']).chain(last).collect()
        }
    }
}

const SHORT_CHARS_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    /// P16: the log says why an assignment failed, in one line that is not too long.
    #[test]
    fn reasons_are_shortened() {
        assert_eq!(shortened("sh ended with 3:\nno\u{1b}[31m"), "sh ended with 3: no [31m");
        let long = shortened(&format!("sh ended with 3: {}out of memory", "ö".repeat(2_000)));
        assert!(long.starts_with("sh ended with 3: ö") && long.ends_with("öout of memory"), "{long}");
        assert_eq!(long.chars().count(), SHORT_CHARS_MAX + 3);
    }
}
