//! The one place that reads a clock.

use muster_model::{Millis, Timestamp};
use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now; never less than it was.
    fn now(&self) -> Timestamp;
}

/// The wall clock as it stood at the start, carried on by the monotonic one.
///
/// A jump of the wall clock while the server runs ends no lease and burns no attempt.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
    started_at: Timestamp,
}

impl SystemClock {
    /// Reads the wall clock once.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "the one place that may")]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        Self { started: Instant::now(), started_at: Timestamp(millis) }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        self.started_at + Millis(i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that a test moves by hand.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at a time.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.0))
    }

    /// Moves it on.
    pub fn advance(&self, by: Millis) {
        self.0.fetch_add(by.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}
