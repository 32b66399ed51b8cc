//! The one place that reads clocks.

use std::{
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Milliseconds since the Unix epoch.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "a node outside the server has a clock of its own")]
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Says how long ago it was made.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins now.
    #[must_use]
    #[allow(
        clippy::disallowed_methods,
        reason = "waiting for a condition needs an end, and what took how long is told"
    )]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long that is ago.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Asks again and again until there is an answer, and gives up, saying for what, only after a very long time.
///
/// # Panics
/// When the time is over.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Stopwatch::start();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain: {what}");
        thread::sleep(PAUSE);
    }
}

/// Far beyond what anything here takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);
