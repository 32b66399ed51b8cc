//! The gateway: its settings, its parts, its connections, and the log line of each request (P16).

use crate::{
    CoordinatorUrl, Limiter, Rates,
    admission::Rules,
    coordinators::{Coordinators, TlsError},
    head::Flaw,
    pass::pass,
    places::{Place, Places},
    problems,
    rates::is_probe,
    scanner::HEAD_MAX,
    screen::{Screen, Verdict, Verdicts},
    tokens::Tokens,
};
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderValue, Method, header},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
    routing::get,
};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use muster_coordinator::instant_now;
use muster_http::{DRAIN_MAX, Peer, Problem, REQUEST_ID, request_id};
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::net::{TcpListener, TcpStream};
use tower::util::MapRequest;
use tracing::Instrument;

/// Settings of a gateway.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Rate limits of callers.
    pub rates: Rates,
    /// Longer bodies are refused while they pass.
    pub body_limit_bytes: u64,
    /// More requests at once are turned away, as is one caller with more than an eighth of them; one that waits or streams counts until its end.
    pub requests_max: usize,
    /// More connections at once are closed as they come, as are those of an address that has an eighth of them.
    pub connections_max: usize,
    /// Names, beside IP addresses and `localhost`, under which callers may address the gateway (I7).
    pub hosts: Vec<String>,
    /// Time that the coordinator may take to begin an answer; more than any long poll.
    pub answer_max: Duration,
    /// Time limit of a request that needs no token, its body and its answer included.
    pub open_max: Duration,
    /// For how long a token that the coordinator knows is not asked about again.
    pub known_for: Duration,
    /// For how long one that it does not know is not.
    pub unknown_for: Duration,
}

/// Reasons why a gateway cannot be made.
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
        // Without a rate per address (for example behind a proxy), all clients have one address, so it has no fair
        // share.
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

/// Serves until `stop` ends, then lets requests under way finish for a while.
///
/// As [`muster_http::listen`] does, and stricter: callers here are strangers. A connection that finds no place is closed
/// at once; it would cost memory before anything on it could be refused.
pub(crate) async fn listen(
    listener: TcpListener,
    places: Places,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, from)) => match places.take_for(from.ip()) {
                Ok(place) => serve(Arrival { stream, from: from.ip(), place }, &router, &graceful),
                Err(full) => tracing::debug!(from = %from.ip(), ?full, "a connection found no place"),
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                // Mostly too many open files: trying again at once would only spin.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_MAX, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time and were cut off");
    }
}

/// A connection that was taken.
struct Arrival {
    stream: TcpStream,
    from: IpAddr,
    place: Place,
}

fn serve(arrival: Arrival, router: &Router, graceful: &GracefulShutdown) {
    let Arrival { stream, from, place } = arrival;
    // Waiting to fill a packet would only delay answers.
    let _ = stream.set_nodelay(true);
    let verdicts = Verdicts::default();
    let screen = Screen::new(stream, verdicts.clone());
    let tell = move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Peer::at(from));
        request.extensions_mut().insert(verdicts.next());
        request
    };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT_MAX)
        .max_buf_size(HEAD_MAX)
        .serve_connection(
            TokioIo::new(screen),
            TowerToHyperService::new(MapRequest::new(router.clone(), tell)),
        );
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection broke off");
        }
        drop(place);
    });
}

/// For the head of the next request to arrive, idle time before it included.
const HEAD_WAIT_MAX: Duration = Duration::from_secs(30);

/// Follows a request from its arrival until its answer begins.
///
/// Neither the query nor any header is logged: both may carry secrets.
pub(crate) async fn follow(mut request: Request, next: Next) -> Response {
    let began = instant_now();
    let id = request_id(request.headers());
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    request.headers_mut().insert(REQUEST_ID, id.clone());

    let mut response = judged(request, next).instrument(span.clone()).await;

    let (status, ms) = (response.status().as_u16(), began.elapsed().as_millis());
    span.in_scope(|| {
        if is_probe(&path) {
            // They come every few seconds and say nothing.
            tracing::debug!(method, path, status, ms, "answered");
        } else {
            tracing::info!(method, path, status, ms, "answered");
        }
    });
    response.headers_mut().insert(REQUEST_ID, id);
    guard(&mut response);
    response
}

/// Has the gateway's own refusals be neither kept nor taken for something else. What was passed on is the coordinator's.
fn guard(response: &mut Response) {
    if response.extensions().get::<Problem>().is_some() {
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

/// Lets a request through if its head was found to have one meaning.
async fn judged(request: Request, next: Next) -> Response {
    match request.extensions().get().map_or(Err(Flaw::Unclear), |verdict: &Verdict| verdict.0) {
        Ok(()) => next.run(request).await,
        Err(flaw) => problems::flawed(flaw).into_response(),
    }
}
