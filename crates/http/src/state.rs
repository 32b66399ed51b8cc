//! State and settings that every handler gets.

use crate::{Claims, Keys, Metrics, Problem, identity::KeyUse, metrics::WriterCounts};
use axum::http::{HeaderMap, header};
use muster_coordinator::{Coordinator, Refusal};
use muster_model::{Actor, Ask, LoginRecord};
use std::{net::IpAddr, ops::Deref, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The state of every route: the coordinator, and what the HTTP layer itself needs. One pointer, since every request
/// clones it.
#[derive(Clone)]
pub struct HttpState(Arc<HttpParts>);

/// The parts of an [`HttpState`].
pub struct HttpParts {
    /// The handle to the one writer.
    pub coordinator: Coordinator,
    /// Registry of metrics; contracts may register their own.
    pub metrics: Arc<Metrics>,
    /// Settings of the HTTP layer.
    pub settings: Arc<HttpSettings>,
    pub(crate) keys: Keys,
    pub(crate) key_use: KeyUse,
    streams: Arc<Semaphore>,
    closing: watch::Sender<bool>,
}

impl Deref for HttpState {
    type Target = HttpParts;

    fn deref(&self) -> &HttpParts {
        &self.0
    }
}

/// Settings of the HTTP layer (section `server`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpSettings {
    /// Longer bodies are refused (N6).
    pub body_limit_bytes: usize,
    /// Longer requests are given up; more than a long poll takes.
    pub request_timeout: Duration,
    /// More requests at once are turned away (I9).
    pub requests_max: usize,
    /// Names, beside IP addresses and `localhost`, under which callers may address us (I7).
    pub hosts: Vec<String>,
    /// Pages elsewhere that may call us: `https://dashboard.example` (I7).
    pub origins: Vec<String>,
    /// True if `/metrics` is open to everybody (I7).
    pub public_metrics: bool,
    /// Public address of this server, if it differs from the one that requests go to: `https://muster.example`.
    pub public_url: Option<String>,
    /// Address for other servers, if an operator has set it (`server.advertise`).
    pub advertised_url: Option<String>,
    /// Proxies before us that are believed when they say for whom they ask (`X-Forwarded-For`).
    pub trusted_proxies: Vec<IpAddr>,
}

impl HttpState {
    /// Puts the parts together.
    #[must_use]
    pub fn new(coordinator: Coordinator, keys: Keys, settings: HttpSettings) -> Self {
        let metrics = Metrics::new();
        let counts = WriterCounts(coordinator.clone());
        metrics.register(|registry| registry.register_collector(Box::new(counts)));
        Self(Arc::new(HttpParts {
            coordinator,
            metrics: Arc::new(metrics),
            settings: Arc::new(settings),
            keys,
            key_use: KeyUse::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            closing: watch::Sender::new(false),
        }))
    }

    /// Has a request decided; what somebody with a name asks for is written down with it (I7).
    ///
    /// # Errors
    /// As the coordinator's.
    pub async fn ask<A: Ask>(
        &self,
        actor: impl Into<Option<Actor>>,
        request: A,
    ) -> Result<A::Reply, Refusal> {
        match actor.into() {
            Some(actor) => self.coordinator.ask_as(&actor, request).await,
            None => self.coordinator.ask(request).await,
        }
    }

    /// The token of a login, as it stands now (P1).
    #[must_use]
    pub fn token_of(&self, login: &LoginRecord) -> String {
        self.keys.signer().encode(&Claims::of(login, self.coordinator.now()))
    }

    /// Ends all streams and reports the server as not ready; the first step of a stop.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Turns true with [`Self::close`].
    #[must_use]
    pub fn watch_closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Waits for [`Self::close`].
    pub async fn closed(&self) {
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// Base of URLs that are for the caller alone, such as upload URLs, without a slash at its end: `server.public_url`,
    /// else the address that the caller used.
    ///
    /// # Errors
    /// 400 if neither a setting nor the request has an address.
    pub fn base_url(&self, headers: &HeaderMap) -> Result<String, Problem> {
        self.settings.public_url.clone().map_or_else(|| requested_base(headers), Ok)
    }

    /// Base of URLs that the caller passes on to others, without a slash at its end: `server.public_url`, else
    /// `server.advertise`, else the address that the caller used.
    ///
    /// Settings come first because the header `Host` is the caller's word. The guard lets any IP address pass there.
    ///
    /// # Errors
    /// 400 if neither a setting nor the request has an address.
    pub fn public_base_url(&self, headers: &HeaderMap) -> Result<String, Problem> {
        let HttpSettings { public_url, advertised_url, .. } = &*self.settings;
        public_url.clone().or_else(|| advertised_url.clone()).map_or_else(|| requested_base(headers), Ok)
    }

    /// The right to keep one stream open.
    ///
    /// # Errors
    /// 503 when too many are.
    pub fn stream_permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let permit = Arc::clone(&self.streams).try_acquire_owned();
        permit.map_err(|_| Problem::busy("too many streams are open; close one and try again"))
    }
}

/// The address that a request was sent to.
fn requested_base(headers: &HeaderMap) -> Result<String, Problem> {
    // The guard has checked it: it is one of our names, and the header occurs once.
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.ok_or_else(|| Problem::bad_request("the header Host is missing"))?;
    Ok(format!("http://{host}"))
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            body_limit_bytes: 1_048_576,
            request_timeout: Duration::from_mins(1),
            requests_max: 4096,
            hosts: Vec::new(),
            origins: Vec::new(),
            public_metrics: false,
            public_url: None,
            advertised_url: None,
            trusted_proxies: Vec::new(),
        }
    }
}

/// A stream outlives its request and so escapes the cap on requests; this many watchers are plenty.
const STREAMS_MAX: usize = 1024;
