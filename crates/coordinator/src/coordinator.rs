//! The handle through which everything outside reaches the writer.

use crate::Feed;
use muster_model::{Command, Explanation, JobId, JobPayload, Name, Pull, PullReply, Rejection, Reply, Settings, Subject, Timestamp};
use muster_store::{Reader, StoreError};
use std::{sync::Arc, time::Duration};

/// A cheap, shareable handle to the running writer.
#[derive(Clone)]
pub struct Coordinator {}

/// Why a command has no reply.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The engine said no; nothing changed.
    #[error("refused")]
    Rejected(Rejection),
    /// Too many commands wait; try again in a moment.
    #[error("too many requests wait")]
    Busy,
    /// The term ended while the command was under way, or no term runs: its fate is unknown; try again.
    #[error("the coordinator is restarting")]
    Unavailable,
    /// A read failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Coordinator {
    /// Has a command decided and, once that is durable, answers. Not for `Pull`: see [`Self::pull`].
    ///
    /// # Errors
    /// When it was refused, or its fate is unknown.
    pub async fn ask(&self, command: Command) -> Result<Reply, Refusal> {
        let _ = command;
        todo!()
    }

    /// Asks for work for a worker; waits up to `wait` for some to appear.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn pull(&self, pull: Pull, wait: Duration) -> Result<PullReply, Refusal> {
        let _ = (pull, wait);
        todo!()
    }

    /// Why is this not running (Q16).
    ///
    /// # Errors
    /// `Rejected(…Unknown)` for what does not exist.
    pub async fn explain(&self, subject: Subject) -> Result<Explanation, Refusal> {
        let _ = subject;
        todo!()
    }

    /// The payload of a job; remembered for the jobs asked for lately.
    ///
    /// # Errors
    /// `Rejected(JobUnknown)` or a failed read.
    pub async fn payload(&self, job: JobId) -> Result<Arc<JobPayload>, Refusal> {
        let _ = job;
        todo!()
    }

    /// Runs a read off the async threads.
    ///
    /// # Errors
    /// When the read fails.
    pub async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let _ = query;
        todo!()
    }

    /// Whether `secret` is a valid secret of that worker, or of any worker when `worker` is `None`. Constant time
    /// in the secret.
    #[must_use]
    pub fn knows_secret(&self, worker: Option<&Name>, secret: &str) -> bool {
        let _ = (worker, secret);
        todo!()
    }

    /// A fresh secret for a worker: 32 random bytes in base64url. Only its hash is ever kept.
    #[must_use]
    pub fn new_secret(&self) -> String {
        todo!()
    }

    /// The last sign of life of a worker that memory knows of, newer than what the store holds.
    #[must_use]
    pub fn last_seen(&self, worker: &Name) -> Option<Timestamp> {
        let _ = worker;
        todo!()
    }

    /// The feed, for subscribers.
    #[must_use]
    pub fn feed(&self) -> &Feed {
        todo!()
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        todo!()
    }

    /// The time by the coordinator's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        todo!()
    }

    /// Whether a term runs and its store is reachable.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        todo!()
    }

    /// The epoch of the running term.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        todo!()
    }
}
