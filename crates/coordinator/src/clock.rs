//! The one place that reads a clock.

use muster_model::{Millis, Timestamp};
use rustix::time::{ClockId, clock_gettime};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Reads tokio's monotonic clock: for timeouts, pauses and measurements within this process. Tests pause it.
///
/// The engine's decisions go by a [`Clock`] instead.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "the one place of the server that may")]
pub fn instant_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now; never less than it was.
    fn now(&self) -> Timestamp;
}

/// The wall clock as it stood at the start, carried on by one that only runs forward, also while the machine sleeps: what
/// a leader knew before has run out when it wakes (S18).
///
/// A jump of the wall clock while the server runs ends no lease and burns no attempt.
#[derive(Debug)]
pub struct SystemClock {
    started: Duration,
    started_at: Timestamp,
}

impl SystemClock {
    /// Reads the wall clock once.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "the one place that may")]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        Self { started: running(), started_at: Timestamp(millis) }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let elapsed = running().saturating_sub(self.started);
        self.started_at + Millis(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Uptime of the machine, the time that it slept included. Linux's monotonic clock stands still meanwhile.
fn running() -> Duration {
    let clock = if cfg!(target_os = "linux") { ClockId::Boottime } else { ClockId::Monotonic };
    clock_gettime(clock).try_into().unwrap_or_default()
}

/// The time that moments are written down in: the store's, where it has a clock, carried on by the server's own.
pub(crate) struct Time {
    clock: Arc<dyn Clock>,
    /// Lead of the store's time over the clock's; [`UNSET`] before the first term.
    ahead: AtomicI64,
}

impl Time {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, ahead: AtomicI64::new(UNSET) }
    }

    /// Now, as it is written down.
    pub(crate) fn now(&self) -> Timestamp {
        match self.ahead.load(Ordering::Acquire) {
            UNSET => self.clock.now(),
            ahead => self.clock.now() + Millis(ahead),
        }
    }

    /// Now, by the server's own clock: for spans, and compared with no other server's.
    pub(crate) fn local(&self) -> Timestamp {
        self.clock.now()
    }

    /// A term begins at a moment by the store's clock. What an earlier term of this server knew is not undone; what
    /// its own clock showed before the first was nobody's.
    pub(crate) fn begin(&self, at: Timestamp) {
        let ahead = (at - self.local()).0;
        // Only the driver sets it, so nothing comes in between.
        let before = self.ahead.load(Ordering::Acquire);
        let ahead = if before == UNSET { ahead } else { ahead.max(before) };
        self.ahead.store(ahead, Ordering::Release);
    }
}

/// No clock is that far behind another.
const UNSET: i64 = i64::MIN;

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

#[cfg(test)]
mod tests {
    use super::*;

    /// S18: a term's time is the store's, whatever the server's own clock shows, and is carried on from there.
    #[test]
    fn the_store_s_time_counts_and_never_goes_back() {
        let clock = Arc::new(ManualClock::at(Timestamp(9_000)));
        let time = Time::new(Arc::clone(&clock) as _);
        assert_eq!((time.now(), time.local()), (Timestamp(9_000), Timestamp(9_000)));
        time.begin(Timestamp(1_000));
        assert_eq!((time.now(), time.local()), (Timestamp(1_000), Timestamp(9_000)), "its own was wrong");
        clock.advance(Millis(500));
        assert_eq!(time.now(), Timestamp(1_500));
        time.begin(Timestamp(1_200));
        assert_eq!(time.now(), Timestamp(1_500), "a store's clock that was set back undoes nothing");
        time.begin(Timestamp(7_000));
        assert_eq!(time.now(), Timestamp(7_000));
    }
}
