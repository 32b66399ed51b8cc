//! A server among others, which is told who leads.

use crate::stage::{Caller, Standin};
use axum::{
    Extension, Router,
    body::to_bytes,
    extract::Request,
    http::{HeaderMap, StatusCode},
    routing::get,
};
use muster_coordinator::{Coordinator, Lead, Options};
use muster_gateway::{ForwardSettings, Forwarder, Limiter, Rates, proof_routes};
use muster_http::{HttpSettings, HttpState, Keys, Metrics, Middleware, Peer, Unready, layered};
use muster_store::MemoryStore;
use std::{sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// A server that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) address: String,
    pub(crate) metrics: Arc<Metrics>,
    lead: watch::Sender<Lead>,
    closing: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Options of a test server.
pub(crate) struct Manner {
    pub(crate) key: &'static str,
    pub(crate) patience: Duration,
    pub(crate) requests_max: usize,
    pub(crate) rates: Rates,
    /// The address that it claims, if that is not true.
    pub(crate) address: Option<String>,
}

/// Shared parts of the servers of all tests.
pub(crate) const KEY: &str = "a key that all servers have";

impl Default for Manner {
    fn default() -> Self {
        Self {
            key: KEY,
            patience: Duration::from_secs(20),
            requests_max: 100,
            rates: Rates { per_key: 0, per_address: 0, burst: 1 },
            address: None,
        }
    }
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(Manner::default()).await
    }

    /// A server that gives up at once.
    pub(crate) async fn hasty() -> Self {
        Self::with(Manner { patience: Duration::from_millis(300), ..Manner::default() }).await
    }

    /// A server that knows who leads.
    pub(crate) async fn behind(leader: &Standin) -> Self {
        let server = Self::start().await;
        server.follow(&leader.url);
        server
    }

    pub(crate) async fn with(manner: Manner) -> Self {
        let (lead, closing) = (watch::Sender::new(Lead::Nowhere), watch::Sender::new(false));
        let door = HttpSettings {
            hosts: vec!["muster.example".to_owned()],
            requests_max: manner.requests_max,
            ..HttpSettings::default()
        };
        let metrics = Arc::new(Metrics::new());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let forwarder = Forwarder::new(ForwardSettings {
            lead: lead.subscribe(),
            closing: closing.subscribe(),
            door: Arc::new(door),
            metrics: Arc::clone(&metrics),
            key: manner.key.as_bytes().into(),
            address: manner.address.unwrap_or_else(|| format!("http://{address}")),
            trouble: Arc::new(|| Some("the database does not answer\nDETAIL: (hunter2)".to_owned())),
            patience: manner.patience,
        });
        let forwarder = forwarder.unwrap();
        let store = Arc::new(MemoryStore::default());
        let coordinator = Coordinator::start(store, Options::default()).unwrap();
        let door = HttpState::new(coordinator, Keys::new("node", "admin"), HttpSettings::default());
        let (proving, _) = proof_routes(forwarder.clone()).with_state(door).split_for_parts();
        let router = Router::new().route("/readyz", get(readyz)).merge(proving).fallback(echo);
        let router = layered(router, forwarder.around(Limiter::new(manner.rates)));
        let task = tokio::spawn(muster_http::listen(listener, router, std::future::pending()));
        Self { address, metrics, lead, closing, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn lead(&self) {
        self.lead.send_replace(Lead::Here { epoch: 7 });
    }

    pub(crate) fn follow(&self, url: &str) {
        self.lead.send_replace(Lead::There { address: url.to_owned(), epoch: 7 });
    }

    pub(crate) fn follow_nobody(&self) {
        self.lead.send_replace(Lead::Nowhere);
    }

    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    pub(crate) async fn caller(&self) -> Caller {
        Caller::of(&self.address).await
    }

    /// Sends bytes on a connection of their own, and nothing after; returns all that comes back.
    pub(crate) async fn exchange(&self, bytes: impl AsRef<str>) -> String {
        let mut caller = self.caller().await;
        caller.send(bytes.as_ref()).await;
        caller.rest().await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Says what keeps it from being ready.
async fn readyz(unready: Option<Extension<Unready>>) -> (StatusCode, String) {
    match unready {
        Some(Extension(Unready(why))) => (StatusCode::SERVICE_UNAVAILABLE, why),
        None => (StatusCode::OK, "own".to_owned()),
    }
}

/// Answers by itself: with what it was asked, from whom, and which of the servers' own headers it saw.
async fn echo(
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    request: Request,
) -> (StatusCode, String) {
    let told = headers.keys().filter(|name| name.as_str().starts_with("muster-")).count();
    let line = format!("{} {}", request.method(), request.uri());
    let peer = peer.0.map_or_else(|| "nobody".to_owned(), |peer| peer.to_string());
    match to_bytes(request.into_body(), 10_000_000).await {
        Ok(body) => (StatusCode::OK, format!("{line} of {peer}, {} bytes, {told} told\n", body.len())),
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()),
    }
}
