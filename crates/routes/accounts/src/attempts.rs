//! Counts logins that failed: so many a minute per name and per address, then no more for a while (P1).

use muster_coordinator::instant_now;
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasher, RandomState},
    net::{IpAddr, Ipv6Addr},
    pin::pin,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

/// The attempts of the last minute.
#[derive(Default)]
pub(crate) struct Attempts {
    counts: Mutex<Counts>,
    /// Told when an attempt ends.
    ended: Notify,
    hasher: RandomState,
}

/// An attempt under way. One that is dropped has failed.
pub(crate) struct Attempt<'a> {
    attempts: &'a Attempts,
    places: [Option<Bucket>; 2],
    failed: bool,
}

/// Too many failed; in so many seconds one more may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    pub(crate) retry_after_s: u32,
}

/// Bucket that an attempt is counted in.
///
/// Names and addresses are hashed into so many places, with a key of this process. So memory is bounded whatever is
/// tried, nothing is ever forgotten to make room, and two that share a place are only judged more strictly.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Bucket {
    Name(u64),
    Address(u64),
}

#[derive(Default)]
struct Counts {
    windows: HashMap<Bucket, Window>,
    cleared_at: Option<Instant>,
}

/// Attempts at one place.
#[derive(Default)]
struct Window {
    failed: VecDeque<Instant>,
    under_way: usize,
}

enum Verdict {
    Go,
    Wait,
    Refuse(TooMany),
}

impl Attempts {
    /// Begins an attempt, before anything is computed for it.
    ///
    /// Attempts under way may all fail; one that could be too many then waits for them, so that no flood of them at
    /// once gets further than one after the other would.
    ///
    /// # Errors
    /// When too many failed within the last minute.
    pub(crate) async fn begin(&self, name: &str, address: Option<IpAddr>) -> Result<Attempt<'_>, TooMany> {
        let places = [Some(self.name(name)), address.map(|address| self.address(address))];
        loop {
            let mut ended = pin!(self.ended.notified());
            ended.as_mut().enable();
            match self.counts(|counts| counts.judge(places, instant_now())) {
                Verdict::Go => return Ok(Attempt { attempts: self, places, failed: true }),
                Verdict::Refuse(too_many) => return Err(too_many),
                Verdict::Wait => ended.await,
            }
        }
    }

    fn name(&self, name: &str) -> Bucket {
        Bucket::Name(self.hasher.hash_one(name) % NAMES_MAX)
    }

    /// Bucket of an address. IPv6 counts by the first 64 bits, because the owner of one address mostly owns all that
    /// share them.
    fn address(&self, address: IpAddr) -> Bucket {
        let prefix = match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            address @ IpAddr::V4(_) => address,
        };
        Bucket::Address(self.hasher.hash_one(prefix) % ADDRESSES_MAX)
    }

    fn counts<T>(&self, look: impl FnOnce(&mut Counts) -> T) -> T {
        look(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Attempt<'_> {
    /// Ends an attempt that counts for nothing: it succeeded, or was never made.
    pub(crate) fn forget(mut self) {
        self.failed = false;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.attempts.counts(|counts| {
            for place in self.places.iter().flatten() {
                let window = counts.windows.entry(*place).or_default();
                window.under_way = window.under_way.saturating_sub(1);
                window.failed.extend(self.failed.then(instant_now));
            }
        });
        self.attempts.ended.notify_waiters();
    }
}

impl Counts {
    fn judge(&mut self, places: [Option<Bucket>; 2], now: Instant) -> Verdict {
        self.clear(now);
        let mut verdict = Verdict::Go;
        for place in places.iter().flatten() {
            match self.windows.entry(*place).or_default().judge(place.limit(), now) {
                Verdict::Go => {}
                Verdict::Wait => verdict = Verdict::Wait,
                refused @ Verdict::Refuse(_) => return refused,
            }
        }
        if matches!(verdict, Verdict::Go) {
            for place in places.iter().flatten() {
                self.windows.entry(*place).or_default().under_way += 1;
            }
        }
        verdict
    }

    /// Forgets, once a minute, what no longer counts.
    fn clear(&mut self, now: Instant) {
        if self.cleared_at.is_some_and(|at| now < at + MINUTE) {
            return;
        }
        self.cleared_at = Some(now);
        self.windows.retain(|_, window| {
            window.clear(now);
            window.under_way > 0 || !window.failed.is_empty()
        });
    }
}

impl Window {
    fn judge(&mut self, limit: usize, now: Instant) -> Verdict {
        self.clear(now);
        if self.failed.len() >= limit {
            let oldest = self.failed.front().map_or(now, |oldest| *oldest + MINUTE);
            let wait = (oldest - now).as_secs_f64().ceil();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 60")]
            return Verdict::Refuse(TooMany { retry_after_s: (wait as u32).max(1) });
        }
        if self.failed.len() + self.under_way >= limit { Verdict::Wait } else { Verdict::Go }
    }

    fn clear(&mut self, now: Instant) {
        while self.failed.front().is_some_and(|at| *at + MINUTE <= now) {
            self.failed.pop_front();
        }
    }
}

impl Bucket {
    const fn limit(self) -> usize {
        match self {
            Self::Name(_) => FAILED_PER_NAME,
            Self::Address(_) => FAILED_PER_ADDRESS,
        }
    }
}

const MINUTE: Duration = Duration::from_mins(1);
const FAILED_PER_NAME: usize = 10;
const FAILED_PER_ADDRESS: usize = 100;
const NAMES_MAX: u64 = 65_536;
const ADDRESSES_MAX: u64 = 16_384;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    async fn fail(attempts: &Attempts, name: &str, address: Option<IpAddr>) -> Result<(), TooMany> {
        attempts.begin(name, address).await.map(drop)
    }

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    /// P1: ten a minute per name; then one more as each of them is a minute old.
    #[tokio::test(start_paused = true)]
    async fn ten_a_minute_per_name() {
        let attempts = Attempts::default();
        for _ in 0..10 {
            assert_eq!(fail(&attempts, "ann", None).await, Ok(()));
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(fail(&attempts, "ann", None).await, Err(TooMany { retry_after_s: 50 }));
        assert_eq!(fail(&attempts, "bob", None).await, Ok(()), "others may");
        tokio::time::advance(Duration::from_millis(49_500)).await;
        assert_eq!(fail(&attempts, "ann", None).await, Err(TooMany { retry_after_s: 1 }));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(fail(&attempts, "ann", None).await, Ok(()));
        assert_eq!(fail(&attempts, "ann", None).await, Err(TooMany { retry_after_s: 1 }));
    }

    /// P1: a hundred a minute per address, whatever the names; half of a v6 address is the whole of it.
    #[tokio::test(start_paused = true)]
    async fn a_hundred_a_minute_per_address() {
        let attempts = Attempts::default();
        for n in 0..100 {
            let host = address(&format!("2001:db8::{n:x}"));
            assert_eq!(fail(&attempts, &format!("user-{n}"), host).await, Ok(()));
        }
        let refused = Err(TooMany { retry_after_s: 60 });
        assert_eq!(fail(&attempts, "ann", address("2001:db8::ffff")).await, refused);
        assert_eq!(fail(&attempts, "ann", address("2001:db8:0:1::1")).await, Ok(()));
        tokio::time::advance(MINUTE).await;
        assert_eq!(fail(&attempts, "ann", address("2001:db8::1")).await, Ok(()));
    }

    /// P1: successes do not count, however many.
    #[tokio::test(start_paused = true)]
    async fn successes_do_not_count() {
        let attempts = Attempts::default();
        for _ in 0..1000 {
            attempts.begin("ann", address("10.0.0.1")).await.unwrap().forget();
        }
        assert_eq!(fail(&attempts, "ann", address("10.0.0.1")).await, Ok(()));
    }

    /// P1: what is under way at once gets no further than one after the other.
    #[tokio::test(start_paused = true)]
    async fn a_flood_at_once_counts_in_full() {
        let attempts = Arc::new(Attempts::default());
        let flood = (0..100).map(|n| {
            let attempts = Arc::clone(&attempts);
            tokio::spawn(async move {
                let attempt = attempts.begin("ann", None).await?;
                tokio::task::yield_now().await;
                // Every twentieth is right.
                if n % 20 == 0 {
                    attempt.forget()
                } else {
                    drop(attempt)
                }
                Ok::<_, TooMany>(n % 20 != 0)
            })
        });
        let (mut failed, mut refused) = (0, 0);
        for attempt in flood.collect::<Vec<_>>() {
            match attempt.await.unwrap() {
                Ok(has_failed) => failed += usize::from(has_failed),
                Err(_) => refused += 1,
            }
        }
        assert_eq!(failed, FAILED_PER_NAME);
        assert!(refused > 80);
    }

    /// P1, I9: memory is bounded by the number of places, and given back.
    #[tokio::test(start_paused = true)]
    async fn memory_is_given_back() {
        let attempts = Attempts::default();
        for n in 0..5000_u32 {
            fail(&attempts, &n.to_string(), Some(IpAddr::from(n.to_be_bytes()))).await.unwrap();
        }
        assert!(attempts.counts(|counts| counts.windows.len()) > 5000);
        tokio::time::advance(MINUTE).await;
        fail(&attempts, "ann", None).await.unwrap();
        assert_eq!(attempts.counts(|counts| counts.windows.len()), 1);
    }
}
