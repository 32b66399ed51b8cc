//! Rate limits (P16, I9): a bucket per token and per address, and the limiter as middleware for servers without a gateway.

use crate::admission::is_page;
use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use muster_coordinator::instant_now;
use muster_http::{LEADER_PROOF, Middleware, Next, Peer, Problem, REQUEST_ID, bearer, request_id};
use quick_cache::unsync::Cache;
use sha2::{Digest, Sha256};
use std::{
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Rate limits; 0 means unlimited.
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

/// Time until a caller that was turned away may try again.
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
    /// The time to wait, if there were too many.
    pub fn count_address(&self, address: IpAddr, now: Instant) -> Result<(), Wait> {
        let Some(buckets) =
            self.addresses.as_ref().filter(|_| !self.spared.contains(&address.to_canonical()))
        else {
            return Ok(());
        };
        self.take(buckets, network_of(address), now)
    }

    /// Counts a request with a token.
    ///
    /// # Errors
    /// The time to wait, if there were too many.
    pub fn count_key(&self, token: &str, now: Instant) -> Result<(), Wait> {
        self.keys.as_ref().map_or(Ok(()), |buckets| self.take(buckets, hash_of(token), now))
    }

    fn is_unlimited(&self) -> bool {
        self.keys.is_none() && self.addresses.is_none()
    }

    fn take(&self, buckets: &Mutex<Buckets>, caller: u128, now: Instant) -> Result<(), Wait> {
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

/// The key of an address: all of IPv4, the /64 of IPv6.
pub(crate) fn network_of(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() & (u128::MAX << 64),
    }
}

/// The buckets of all callers of one kind.
///
/// A bucket is one moment: when it would be full again. So a caller that is evicted after a quiet time loses and gains
/// nothing: a missing bucket counts as full.
#[derive(Debug)]
pub(crate) struct Buckets {
    /// Between two requests at the rate.
    interval: Duration,
    /// For an empty bucket to fill.
    fill: Duration,
    full_at: Cache<u128, Duration>,
}

impl Buckets {
    /// Buckets that take `rate` requests a second and hold `burst`; neither is zero.
    pub(crate) fn new(rate: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(1) / rate.max(1);
        let fill = interval.saturating_mul(burst.max(1));
        Self { interval, fill, full_at: Cache::new(CALLERS_MAX) }
    }

    /// Takes one request out of a caller's bucket, or says how long to wait until there is one in it.
    pub(crate) fn take(&mut self, caller: u128, now: Duration) -> Result<(), Duration> {
        let full_at = self.full_at.get(&caller).copied().unwrap_or(now).max(now);
        let after = full_at + self.interval;
        if after <= now + self.fill {
            self.full_at.insert(caller, after);
            return Ok(());
        }
        Err(after - now - self.fill)
    }
}

/// A few megabytes. When more callers come at once, the cache evicts those that call least.
const CALLERS_MAX: usize = 65_536;

impl Middleware for Limiter {
    /// Turns a request away with 429 when its address or its token asks too often. Probes come through, and
    /// so does what a page loads: it comes as dozens of requests at once, and costs no more than to turn them away.
    async fn handle(&self, request: Request, next: impl Next) -> Response {
        let path = request.uri().path();
        if self.is_unlimited() || is_probe(path) || is_page(path) {
            return next.run(request).await;
        }
        if let Err(problem) = count(self, &request) {
            let id = request_id(request.headers());
            let mut response = problem.into_response();
            response.headers_mut().insert(REQUEST_ID, id);
            return response;
        }
        next.run(request).await
    }
}

/// True for the probes of service managers and other servers; a busy server is alive.
pub(crate) fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | LEADER_PROOF)
}

fn count(limiter: &Limiter, request: &Request) -> Result<(), Problem> {
    let now = instant_now();
    if let Some(Peer(Some(address))) = request.extensions().get() {
        limiter.count_address(*address, now)?;
    }
    if let Some(token) = bearer(request.headers()) {
        limiter.count_key(token, now)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rates;
    use axum::{Router, body::Body, http::header, routing::get};
    use tower::ServiceExt;

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

    /// I9: a million strangers find a fixed amount of room.
    #[test]
    fn strangers_find_bounded_room() {
        let mut buckets = Buckets::new(10, 5);
        (0..1_000_000).for_each(|caller| assert_eq!(buckets.take(caller, at(0)), Ok(())));
        assert!(buckets.full_at.len() <= CALLERS_MAX);
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

    fn router() -> Router {
        let rates = Rates { per_key: 1, per_address: 2, burst: 2 };
        let routes = Router::new().route("/jobs", get(async || ())).route("/healthz", get(async || ()));
        let routes = routes.route("/ui/app.css", get(async || ()));
        muster_http::layered(routes, Limiter::new(rates))
    }

    async fn ask(router: &Router, path: &str, from: &str, token: &str) -> Response {
        let request = Request::get(path).header(header::AUTHORIZATION, format!("Bearer {token}"));
        let request = request.extension(Peer::at(from.parse().unwrap()));
        router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    /// P16, I9: too many of one address, or with one token, are 429 with Retry-After; probes come through.
    #[tokio::test(start_paused = true)]
    async fn too_many_are_turned_away() {
        let router = router();
        for (from, token, status) in [
            ("192.0.2.1", "a", 200),
            ("192.0.2.1", "b", 200),
            ("192.0.2.1", "c", 429),
            ("192.0.2.2", "a", 200),
            ("192.0.2.3", "a", 429),
        ] {
            let response = ask(&router, "/jobs", from, token).await;
            assert_eq!(response.status(), status, "{from} {token}");
            if status == 429 {
                assert_eq!(response.headers()[header::RETRY_AFTER], "1");
                assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
                assert_eq!(response.headers()[REQUEST_ID].len(), 16);
            }
        }
        for open in ["/healthz", "/ui/app.css"] {
            assert_eq!(ask(&router, open, "192.0.2.1", "a").await.status(), 200, "{open}");
        }
    }
}
