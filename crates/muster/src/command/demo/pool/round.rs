//! One round of the pool's jobs.

use std::time::Duration;
use tokio::time::Instant;

/// A round, and where it stands.
#[derive(Debug)]
pub(in super::super) struct Round {
    pub(super) act: Act,
    began: Instant,
    pub(in super::super) took: Option<Duration>,
}

/// The parts of a round, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Each job is done by one worker.
    Alone,
    /// The liar votes; the others are held back.
    Lies,
    /// Everybody votes.
    Votes,
    Over,
}

impl Round {
    pub(super) const fn begun(now: Instant) -> Self {
        Self { act: Act::Alone, began: now, took: None }
    }

    pub(super) fn end(&mut self, now: Instant) {
        self.act = Act::Over;
        self.took = Some(now - self.began);
    }

    pub(super) fn is_over(&self) -> bool {
        self.act == Act::Over
    }
}
