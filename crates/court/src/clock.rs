//! The court's wall clock; only runtimes read it, minds are handed the time.

use jiff::Timestamp;

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
