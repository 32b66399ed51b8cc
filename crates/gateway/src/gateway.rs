//! The gateway: what it is told, and what it is made of (P16).

use crate::{
    CoordinatorUrl, Limiter, Rates, admission::Rules, client::TlsError, coordinators::Coordinators,
    follow::follow, listen::listen, pass::pass, places::Places, problems, tokens::Tokens,
};
use axum::{Router, extract::State, http::Method, middleware::from_fn, routing::get};
use muster_http::Problem;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::net::TcpListener;

/// What an operator may set about a gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How often a caller may ask.
    pub rates: Rates,
    /// Longer bodies are refused while they pass.
    pub body_limit_bytes: u64,
    /// More requests at once are turned away, as is one caller with more than an eighth of them; one that waits or streams counts until its end.
    pub requests_max: usize,
    /// More connections at once are closed as they come, as are those of an address that has an eighth of them.
    pub connections_max: usize,
    /// Names, beside IP addresses and `localhost`, under which callers may address the gateway (I7).
    pub hosts: Vec<String>,
    /// How long the coordinator may take to begin an answer; more than any long poll.
    pub answer_max: Duration,
    /// How long a request that needs no token may last, its body and its answer included.
    pub open_max: Duration,
    /// For how long a token that the coordinator knows is not asked about again.
    pub known_for: Duration,
    /// For how long one that it does not know is not.
    pub unknown_for: Duration,
}

/// Why there can be no gateway.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// It was told of no coordinator.
    #[error("a gateway needs the address of a coordinator")]
    NoCoordinator,
    /// TLS cannot be spoken.
    #[error("cannot speak TLS: {0}")]
    Tls(#[from] TlsError),
}

/// A gateway before one or more coordinators. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Parts>);

pub(crate) struct Parts {
    pub(crate) coordinators: Coordinators,
    pub(crate) tokens: Tokens,
    pub(crate) limiter: Limiter,
    connections: Places,
    /// For requests, by address.
    pub(crate) room: Places,
    /// For requests, by token.
    pub(crate) room_of_keys: Places,
    pub(crate) rules: Rules,
    pub(crate) answer_max: Duration,
    pub(crate) open_max: Duration,
    is_closing: AtomicBool,
}

impl Gateway {
    /// Puts a gateway together; it does nothing yet.
    ///
    /// # Errors
    /// Without coordinators, or where TLS is needed and the system has no certificates.
    pub fn new(coordinators: Vec<CoordinatorUrl>, settings: Settings) -> Result<Self, GatewayError> {
        if coordinators.is_empty() {
            return Err(GatewayError::NoCoordinator);
        }
        // Where addresses are not told apart, as behind a proxy, one of them is everybody.
        let places = if settings.rates.per_address == 0 { Places::unshared } else { Places::shared };
        let requests_max = settings.requests_max;
        Ok(Self(Arc::new(Parts {
            coordinators: Coordinators::new(coordinators)?,
            tokens: Tokens::new(settings.known_for, settings.unknown_for, requests_max),
            limiter: Limiter::new(settings.rates),
            connections: places(settings.connections_max),
            room: places(requests_max),
            room_of_keys: Places::shared(requests_max),
            rules: Rules { hosts: settings.hosts, body_limit_bytes: settings.body_limit_bytes },
            answer_max: settings.answer_max,
            open_max: settings.open_max,
            is_closing: AtomicBool::new(false),
        })))
    }

    /// Asks all coordinators once whether they are ready.
    pub async fn check(&self) {
        self.0.coordinators.check().await;
    }

    /// Serves until `stop` ends, and watches over the coordinators meanwhile; then lets requests under way finish.
    pub async fn serve(&self, listener: TcpListener, stop: impl Future<Output = ()>) {
        let stop = async {
            stop.await;
            self.0.is_closing.store(true, Ordering::Relaxed);
        };
        tokio::select! {
            () = listen(listener, self.0.connections.clone(), self.router(), stop) => {}
            () = self.0.coordinators.watch() => {}
        }
    }

    fn router(&self) -> Router {
        Router::new()
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(readyz))
            .method_not_allowed_fallback(async |method: Method| Problem::method_not_allowed(method.as_str()))
            .fallback(pass)
            .layer(from_fn(follow))
            .with_state(Arc::clone(&self.0))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rates: Rates::default(),
            body_limit_bytes: 1_048_576,
            requests_max: 8192,
            connections_max: 16_384,
            hosts: Vec::new(),
            answer_max: Duration::from_mins(2),
            open_max: Duration::from_mins(1),
            known_for: Duration::from_secs(2),
            unknown_for: Duration::from_secs(1),
        }
    }
}

/// A gateway is ready when a coordinator is.
async fn readyz(State(gateway): State<Arc<Parts>>) -> Result<&'static str, Problem> {
    if gateway.is_closing.load(Ordering::Relaxed) {
        return Err(Problem::busy("the gateway is stopping"));
    }
    if gateway.coordinators.is_ready() { Ok("ready\n") } else { Err(problems::nobody()) }
}
