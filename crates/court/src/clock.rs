//! The court's wall clock, and pauses measured by it. Only runtimes read the clock; minds are handed the time.

use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// Tells the time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    /// The time of day, on this machine.
    #[allow(clippy::disallowed_methods, reason = "the one place of the court that may")]
    #[must_use]
    pub fn now(self) -> Timestamp {
        Timestamp::now()
    }
}

/// Time to wait for a moment; never quite zero, so that a clock that stands still does not make a loop busy.
pub(crate) fn wait_until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default().max(Duration::from_millis(10))
}

/// A span of time, from a moment to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    from: Timestamp,
    until: Timestamp,
}

impl Pause {
    /// A span that begins at a moment; beyond the end of time it never ends.
    pub(crate) fn of(span: SignedDuration, from: Timestamp) -> Self {
        Self { from, until: from.checked_add(span).unwrap_or(Timestamp::MAX) }
    }

    /// True if it has ended. A clock that was set back before its start counts as the end.
    pub(crate) fn is_over(self, now: Timestamp) -> bool {
        now >= self.until || now < self.from
    }

    /// The end.
    pub(crate) const fn until(self) -> Timestamp {
        self.until
    }
}
