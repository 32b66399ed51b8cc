//! A bucket of tokens per caller: so many requests a second, and so many at once after a pause.

use crate::generations::Generations;
use std::time::Duration;

/// The buckets of all callers of one kind.
///
/// A bucket is one moment: when it would be full again. A full one says nothing and is not kept, so a caller that is
/// forgotten after a quiet time loses and gains nothing.
#[derive(Debug)]
pub(crate) struct Buckets {
    /// Between two requests at the rate.
    interval: Duration,
    /// For an empty bucket to fill.
    fill: Duration,
    full_at: Generations<Duration>,
}

impl Buckets {
    /// Buckets that take `rate` requests a second and hold `burst`; neither is zero.
    pub(crate) fn new(rate: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(1) / rate.max(1);
        let fill = interval.saturating_mul(burst.max(1));
        Self { interval, fill, full_at: Generations::new(fill, CALLERS_MAX) }
    }

    /// Takes one request out of a caller's bucket, or says how long to wait until there is one in it.
    pub(crate) fn take(&mut self, caller: u128, now: Duration) -> Result<(), Duration> {
        let full_at = self.full_at.get(caller).unwrap_or(now).max(now);
        let after = full_at + self.interval;
        if after <= now + self.fill {
            self.full_at.put(caller, after, now);
            return Ok(());
        }
        // Touched, so that pressing on does not make it forgotten.
        self.full_at.put(caller, full_at, now);
        Err(after - now - self.fill)
    }
}

/// About six megabytes; more callers at once take each other's places, oldest first.
const CALLERS_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn taken(buckets: &mut Buckets, caller: u128, now: Duration) -> usize {
        (0..1000).take_while(|_| buckets.take(caller, now).is_ok()).count()
    }

    /// P16: so many at once, then so many a second, and the time to wait is told.
    #[test]
    fn a_bucket_empties_and_fills() {
        let mut buckets = Buckets::new(10, 5);
        assert_eq!(taken(&mut buckets, 1, at(0)), 5);
        assert_eq!(buckets.take(1, at(0)), Err(at(100)));
        assert_eq!(buckets.take(1, at(40)), Err(at(60)));
        assert_eq!(taken(&mut buckets, 1, at(100)), 1);
        assert_eq!(taken(&mut buckets, 1, at(399)), 2);
        assert_eq!(taken(&mut buckets, 1, at(60_000)), 5);
    }

    /// P16: one caller's haste is not another's.
    #[test]
    fn callers_have_buckets_of_their_own() {
        let mut buckets = Buckets::new(10, 5);
        assert_eq!(taken(&mut buckets, 1, at(0)), 5);
        assert_eq!(taken(&mut buckets, 2, at(0)), 5);
    }

    /// P16: pressing on without pause never gets more than the rate.
    #[test]
    fn who_presses_on_is_not_forgotten() {
        let mut buckets = Buckets::new(10, 5);
        let mut granted = 0;
        for ms in 0..10_000 {
            granted += usize::from(buckets.take(1, at(ms)).is_ok());
            granted += usize::from(buckets.take(1, at(ms)).is_ok());
        }
        assert_eq!(granted, 5 + 99);
    }
}
