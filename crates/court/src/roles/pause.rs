//! A span of time that a clock which was set back does not make longer.

use jiff::{SignedDuration, Timestamp};

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

    /// Whether it has ended; before its own beginning nobody knows how much of it is left, so none is.
    pub(crate) fn is_over(self, now: Timestamp) -> bool {
        now >= self.until || now < self.from
    }

    /// When it ends.
    pub(crate) const fn until(self) -> Timestamp {
        self.until
    }
}
