//! Brings what only the leader may answer to the leader (S18, S19).
//!
//! Several servers share a store and one of them leads. Whichever of them a request reaches, it is answered: here, or by
//! the leader through here, piece by piece both ways. Where nobody leads a request waits a little: another server takes
//! over within seconds.

mod journey;
mod proven;
mod seal;
mod way;

pub use proven::proof_routes;
pub(crate) use seal::{HOPS, PEER, PROOF};

use crate::{
    admission::is_page,
    coordinators::TlsError,
    pass::{RequestHold, passed_on},
    places::Places,
};
use axum::{
    extract::Request,
    http::{HeaderValue, Method, header},
    response::{IntoResponse, Response},
};
use journey::{End, Journey, Tail};
use muster_coordinator::Lead;
use muster_coordinator::instant_now;
use muster_http::{
    EPOCH, HttpSettings, HttpState, LEADER_PROOF, Metrics, Middleware, NOT_LEADING, Next, Problem,
    REQUEST_ID, Unready, check_names, request_id,
};
use proven::{Leader, Verdict, in_words};
use seal::{Claims, Seal};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;
use tracing::Instrument;
use way::{LeaderConnections, Trust};

/// Settings of a server that passes requests on.
#[derive(Clone)]
pub struct ForwardSettings {
    /// The current leader.
    pub lead: watch::Receiver<Lead>,
    /// Turns true when this server stops.
    pub closing: watch::Receiver<bool>,
    /// Names that are ours, and how much may be under way.
    pub door: Arc<HttpSettings>,
    /// Counters of requests.
    pub metrics: Arc<Metrics>,
    /// Secret of the servers that share a store: it proves to the leader who passes a request on.
    pub key: Box<[u8]>,
    /// Address at which others reach this server.
    pub address: String,
    /// Reason why no server leads, if known.
    pub trouble: Trouble,
    /// Time that a request waits for a leader.
    pub patience: Duration,
}

/// Says why nobody leads, if that is known.
pub type Trouble = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Passes requests on to the server that leads. Cheap to clone.
///
/// It stands before all routes, the limits included: callers are limited where they are answered.
#[derive(Clone)]
pub struct Forwarder(Arc<Parts>);

struct Parts {
    lead: watch::Receiver<Lead>,
    closing: watch::Receiver<bool>,
    door: Arc<HttpSettings>,
    metrics: Arc<Metrics>,
    seal: Arc<Seal>,
    way: LeaderConnections,
    trust: Trust,
    /// This server's own.
    address: String,
    trouble: Trouble,
    /// For requests that are passed on, until their answer has ended.
    room: Places,
    /// For those of them that wait for a leader.
    waiting_room: Places,
    patience: Duration,
    /// The highest that was heard of.
    epoch: AtomicU64,
}

impl ForwardSettings {
    /// Builds the parts that a server behind this door needs, including the parts that all servers share.
    #[must_use]
    pub fn of(door: &HttpState, key: &str, address: &str) -> Self {
        let coordinator = door.coordinator.clone();
        Self {
            lead: door.coordinator.watch_lead(),
            closing: door.watch_closing(),
            door: Arc::clone(&door.settings),
            metrics: Arc::clone(&door.metrics),
            key: key.as_bytes().into(),
            address: address.to_owned(),
            trouble: Arc::new(move || coordinator.trouble()),
            patience: PATIENCE,
        }
    }
}

impl Forwarder {
    /// Puts a forwarder together.
    ///
    /// # Errors
    /// When the TLS library refuses its settings.
    pub fn new(settings: ForwardSettings) -> Result<Self, TlsError> {
        let ForwardSettings { lead, closing, door, metrics, key, address, trouble, patience } = settings;
        let requests_max = door.requests_max;
        let seal = Arc::new(Seal::new(&key));
        Ok(Self(Arc::new(Parts {
            lead,
            closing,
            door,
            metrics,
            way: LeaderConnections::new(Arc::clone(&seal))?,
            seal,
            trust: Trust::default(),
            address,
            trouble,
            room: Places::unshared(requests_max.saturating_mul(PASSED_ON_PER_REQUEST)),
            waiting_room: Places::unshared(requests_max),
            patience,
            epoch: AtomicU64::new(0),
        })))
    }
}

impl Middleware for Forwarder {
    /// Has a request answered by whoever leads, and every answer tell the leader's epoch.
    async fn handle(&self, mut request: Request, next: impl Next) -> Response {
        let Self(parts) = self;
        let claims = parts.seal.open(&mut request);
        if request.uri().path() == "/readyz"
            && let Some(why) = Box::pin(parts.unready()).await
        {
            request.extensions_mut().insert(Unready(why));
        }
        let mut response = if parts.leads() || is_own(request.uri().path()) {
            next.run(request).await
        } else {
            // In a box, so that the future of a request that is answered here stays small.
            Box::pin(parts.answer_elsewhere(request, claims, next)).await
        };
        if let Some(epoch) = parts.epoch() {
            response.headers_mut().entry(EPOCH).or_insert(HeaderValue::from(epoch));
        }
        response
    }
}

/// True for requests that every server answers itself.
fn is_own(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | "/metrics" | "/openapi.json" | "/docs" | LEADER_PROOF)
        || path.starts_with("/docs/")
        || is_page(path)
        || is_court(path)
}

/// A court is files that this host has, and the leader's may not.
fn is_court(path: &str) -> bool {
    path == "/api/court" || path.starts_with("/api/court/") || path.starts_with("/api/explain/court_task/")
}

impl Parts {
    fn leads(&self) -> bool {
        matches!(*self.lead.borrow(), Lead::Here { .. }) && !self.is_closing()
    }

    fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Reason why this server cannot pass anything on to its leader.
    async fn unready(&self) -> Option<String> {
        let Lead::There { address, epoch } = self.lead.borrow().clone() else {
            return None;
        };
        let leader = Leader { address, epoch };
        let verdict = self.trusts(&leader, Some(READY_FOR)).await;
        (verdict != Verdict::Ours).then(|| in_words(verdict, &leader.address))
    }

    async fn trusts(&self, leader: &Leader, age_max: Option<Duration>) -> Verdict {
        self.trust.of(leader, &self.way, age_max).await
    }

    /// That nobody leads, and why.
    fn nobody(&self) -> String {
        let why = (self.trouble)().map_or_else(String::new, |why| format!(": {why}"));
        format!("no server leads at the moment{why}")
    }

    /// The leader's epoch, or the last one's where nobody leads.
    fn epoch(&self) -> Option<u64> {
        let known = match *self.lead.borrow() {
            Lead::Here { epoch } | Lead::There { epoch, .. } => epoch,
            Lead::Nowhere => 0,
        };
        let epoch = self.epoch.fetch_max(known, Ordering::Relaxed).max(known);
        (epoch > 0).then_some(epoch)
    }

    /// Has a request answered that is not for this server; it may be by the time that somebody leads.
    async fn answer_elsewhere(&self, mut request: Request, claims: Claims, next: impl Next) -> Response {
        let began = instant_now();
        let id = request_id(request.headers());
        request.headers_mut().insert(REQUEST_ID, id.clone());
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
        let passed = self.pass_on(request, claims).instrument(span.clone()).await;
        let mut response = match passed {
            Ok(Passed::Back(request)) => return next.run(request).await,
            Ok(Passed::On(response)) => response,
            Err(problem) => refusal(problem),
        };
        response.headers_mut().insert(REQUEST_ID, id);
        let (status, took) = (response.status().as_u16(), began.elapsed());
        self.metrics.count_forwarded(&method, status, took);
        span.in_scope(|| tell(&method, &path, status, took));
        response
    }

    async fn pass_on(&self, request: Request, claims: Claims) -> Result<Passed, Problem> {
        if claims.is_proven || claims.hops >= HOPS_MAX {
            return Err(Problem::not_leading("this server does not lead any more, or not yet"));
        }
        check_names(&self.door, &request)?;
        let place = self.room.take(0)?;
        let (parts, body) = request.into_parts();
        let mut journey = Journey::new(self, &parts, body)?;
        journey.hops = claims.hops + 1;
        match journey.travel().await? {
            End::Here(body) => Ok(Passed::Back(Request::from_parts(parts, body))),
            End::There(answer, address) => {
                let answer = passed_on(answer, RequestHold { places: vec![place], until: None })?;
                Ok(Passed::On(Tail::of(answer, self, &address)))
            }
        }
    }
}

/// Result of a request.
enum Passed {
    /// Another server answered.
    On(Response),
    /// This server leads by now.
    Back(Request),
}

/// A line in the log. Neither the query nor any header stands there: both may carry secrets.
fn tell(method: &Method, path: &str, status: u16, took: Duration) {
    let ms = took.as_millis();
    if path.ends_with("/heartbeat") && status < 300 {
        // Of thousands of workers, every second.
        tracing::debug!(%method, path, status, ms, "passed on");
    } else if status == 503 {
        tracing::info!(%method, path, status, ms, "not passed on, or not answered");
    } else {
        tracing::info!(%method, path, status, ms, "passed on");
    }
}

/// A refusal of this server's own, marked so that whoever passed the request on knows that nothing was done.
fn refusal(problem: Problem) -> Response {
    let is_untouched = problem.is_not_leading();
    let mut response = problem.into_response();
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if is_untouched {
        headers.insert(NOT_LEADING, HeaderValue::from_static("1"));
    }
    response
}

/// As long as a takeover may last (S18).
const PATIENCE: Duration = Duration::from_secs(5);

/// However often a follower is asked whether it is ready, its leader is asked no more often than so.
const READY_FOR: Duration = Duration::from_secs(1);

/// Those who wait for work and those who watch are passed on too, and cost little meanwhile.
const PASSED_ON_PER_REQUEST: usize = 9;

/// A proven hop is the last. Where keys differ, because two stores are confused, this ends the circle.
const HOPS_MAX: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    /// S18, I7: health, counts, documents and pages are each server's own, and nothing else is by a detour.
    #[test]
    fn few_paths_are_each_servers_own() {
        for own in [
            "/healthz",
            "/readyz",
            "/metrics",
            "/openapi.json",
            "/docs",
            "/docs/scalar.js",
            "/",
            "/ui/js/a.js",
            "/api/court",
            "/api/court/tasks/t/reply",
            "/api/explain/court_task/t",
            LEADER_PROOF,
        ] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "/jobs",
            "/ui",
            "/ui/../jobs",
            "/healthz/",
            "/docsx",
            "/api/events",
            "/api/courts",
            "/api/explain/run/court_task",
            "/metricsx",
            "//docs",
            "/Docs",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
