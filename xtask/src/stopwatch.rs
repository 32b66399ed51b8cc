//! Elapsed time, for people.

use std::fmt;
use std::time::{Duration, Instant};

/// A clock that was started.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts counting.
    #[expect(clippy::disallowed_methods, reason = "chores show how long they took; nothing is decided by it")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Says how long ago it was started.
    pub(crate) fn elapsed(&self) -> Elapsed {
        Elapsed(self.0.elapsed())
    }
}

/// A duration that prints as `1.2 s` or `3 m 05 s`.
pub(crate) struct Elapsed(Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        if seconds < 60 {
            write!(out, "{:.1} s", self.0.as_secs_f64())
        } else {
            write!(out, "{} m {:02} s", seconds / 60, seconds % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_appear_when_there_are_any() {
        assert_eq!(Elapsed(Duration::from_millis(1_240)).to_string(), "1.2 s");
        assert_eq!(Elapsed(Duration::from_secs(185)).to_string(), "3 m 05 s");
    }
}
