//! The monotonic clock of agent, workers and court.

use tokio::time::Instant;

/// Reads tokio's monotonic clock: for timeouts, pauses and measurements within this process. Tests pause it.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "the one place of the workers that may")]
pub fn instant_now() -> Instant {
    Instant::now()
}
