//! How often whom a caller may ask (P16, I9).

use crate::buckets::Buckets;
use muster_coordinator::instant_now;
use muster_http::Problem;
use sha2::{Digest, Sha256};
use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How often a caller may ask; 0 is as often as it likes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Requests a second with one token.
    pub per_key: u32,
    /// Requests a second from one address; of IPv6 addresses, from one /64, which is what one customer has.
    pub per_address: u32,
    /// Requests at once after a pause, of either.
    pub burst: u32,
}

/// A rate limiter per token and per address, in bounded memory.
///
/// It never holds a token, only a hash.
#[derive(Debug)]
pub struct Limiter {
    began: Instant,
    keys: Option<Mutex<Buckets>>,
    addresses: Option<Mutex<Buckets>>,
    spared: Vec<IpAddr>,
}

/// Why a request is turned away, and when to come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(pub Duration);

impl Limiter {
    /// A limiter at which everybody has a full bucket.
    #[must_use]
    pub fn new(rates: Rates) -> Self {
        let buckets = |rate: u32| (rate > 0).then(|| Mutex::new(Buckets::new(rate, rates.burst)));
        let (keys, addresses) = (buckets(rates.per_key), buckets(rates.per_address));
        Self { began: instant_now(), keys, addresses, spared: Vec::new() }
    }

    /// Does not count requests from these addresses: gateways and proxies, behind which are many, and which count them
    /// by themselves.
    #[must_use]
    pub fn sparing(mut self, addresses: &[IpAddr]) -> Self {
        self.spared = addresses.iter().map(IpAddr::to_canonical).collect();
        self
    }

    /// Counts a request from an address.
    ///
    /// # Errors
    /// How long to wait, when there were too many.
    pub fn count_address(&self, address: IpAddr, now: Instant) -> Result<(), Wait> {
        if self.spared.contains(&address.to_canonical()) {
            return Ok(());
        }
        self.take(self.addresses.as_ref(), network_of(address), now)
    }

    /// Counts a request with a token.
    ///
    /// # Errors
    /// How long to wait, when there were too many.
    pub fn count_key(&self, token: &str, now: Instant) -> Result<(), Wait> {
        self.take(self.keys.as_ref(), hash_of(token), now)
    }

    fn take(&self, buckets: Option<&Mutex<Buckets>>, caller: u128, now: Instant) -> Result<(), Wait> {
        let Some(buckets) = buckets else {
            return Ok(());
        };
        let now = now.saturating_duration_since(self.began);
        buckets.lock().unwrap_or_else(PoisonError::into_inner).take(caller, now).map_err(Wait)
    }
}

impl From<Wait> for Problem {
    /// 429, with the whole seconds to wait.
    fn from(wait: Wait) -> Self {
        let seconds = wait.0.as_millis().div_ceil(1000).max(1);
        Self::too_many(u32::try_from(seconds).unwrap_or(u32::MAX))
    }
}

impl Default for Rates {
    /// Far above what a worker or a client with care needs, far below what a coordinator can do.
    fn default() -> Self {
        Self { per_key: 1000, per_address: 2000, burst: 2000 }
    }
}

/// Names a token without holding it; of random tokens, half a SHA-256 is as unlike any other as the whole.
pub(crate) fn hash_of(token: &str) -> u128 {
    let hash = Sha256::digest(token.as_bytes());
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    u128::from_be_bytes(half)
}

/// What counts as one address.
pub(crate) fn network_of(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() & (u128::MAX << 64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(limiter: &Limiter, address: &str) -> usize {
        let now = limiter.began;
        (0..100).filter(|_| limiter.count_address(address.parse().unwrap(), now).is_ok()).count()
    }

    fn limiter(per_key: u32, per_address: u32) -> Limiter {
        Limiter::new(Rates { per_key, per_address, burst: 4 })
    }

    /// P16: who has a /64 has one bucket, not 2^64 of them; a mapped address is the plain one.
    #[test]
    fn an_address_is_what_one_customer_has() {
        let limiter = limiter(0, 1);
        assert_eq!(granted(&limiter, "2001:db8::1"), 4);
        assert_eq!(granted(&limiter, "2001:db8::ffff:1"), 0);
        assert_eq!(granted(&limiter, "2001:db8:0:1::1"), 4);
        assert_eq!(granted(&limiter, "192.0.2.1"), 4);
        assert_eq!(granted(&limiter, "::ffff:192.0.2.1"), 0);
        assert_eq!(granted(&limiter, "192.0.2.2"), 4);
    }

    /// P16: a gateway before us is many callers.
    #[test]
    fn a_gateway_is_spared() {
        let limiter = limiter(0, 1).sparing(&["::ffff:192.0.2.1".parse().unwrap()]);
        assert_eq!(granted(&limiter, "192.0.2.1"), 100);
        assert_eq!(granted(&limiter, "192.0.2.2"), 4);
    }

    /// P16: each token has a bucket; 0 is no limit.
    #[test]
    fn a_token_has_a_bucket() {
        let limited = limiter(1, 0);
        let ask = |token: &str| (0..9).filter(|_| limited.count_key(token, limited.began).is_ok()).count();
        assert_eq!((ask("a"), ask("a"), ask("b")), (4, 0, 4));
        assert_eq!(granted(&limited, "192.0.2.1"), 100);
    }

    /// I9: the seconds to wait are rounded up, so that whoever obeys is let in.
    #[test]
    fn the_wait_is_told_in_whole_seconds() {
        for (ms, seconds) in [(1, 1), (1000, 1), (1001, 2)] {
            let problem = Problem::from(Wait(Duration::from_millis(ms)));
            assert_eq!(problem.status(), 429);
            assert_eq!(problem.detail(), format!("try again in {seconds} s"));
        }
    }
}
