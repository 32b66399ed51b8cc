//! The coordinators behind a gateway: their addresses, connections to them, and which of them is asked (P16).

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
        uri::{Authority, PathAndQuery, Scheme},
    },
};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{
        self,
        connect::{Connect, HttpConnector},
    },
    rt::{TokioExecutor, TokioTimer},
};
use muster_http::NOT_LEADING;
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// The coordinators, of which at most one leads.
pub(crate) struct Coordinators {
    all: Vec<Arc<Coordinator>>,
    /// Index of the coordinator that answered last; it most likely still leads.
    last: AtomicUsize,
    client: Client,
    doubt: Notify,
}

/// A request without its body, which each attempt takes anew.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) path: PathAndQuery,
    pub(crate) headers: HeaderMap,
}

/// Reasons why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendError {
    /// There is no connection, or it was turned away unread: nothing of the request was done.
    NotSent,
    /// It may have arrived.
    BrokeOff,
}

impl Coordinators {
    pub(crate) fn new(urls: Vec<CoordinatorUrl>) -> Result<Self, TlsError> {
        let client = client(urls.iter().any(CoordinatorUrl::is_https))?;
        let all = urls.into_iter().map(|url| Arc::new(Coordinator::new(url))).collect();
        Ok(Self { all, last: AtomicUsize::new(0), client, doubt: Notify::new() })
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.all.iter().any(|coordinator| coordinator.is_ready())
    }

    pub(crate) fn is_ready_at(&self, place: usize) -> bool {
        self.all[place].is_ready()
    }

    /// The places of those that are ready, the one that answered last at the front.
    pub(crate) fn ready(&self) -> Vec<usize> {
        let last = self.last.load(Ordering::Relaxed);
        let mut ready: Vec<usize> = (0..self.all.len()).filter(|place| self.all[*place].is_ready()).collect();
        ready.sort_by_key(|place| *place != last);
        ready
    }

    /// Sends a request to the coordinator at a place.
    pub(crate) async fn send(
        &self,
        place: usize,
        head: Head,
        body: Body,
    ) -> Result<Response<Incoming>, SendError> {
        let coordinator = &self.all[place];
        match self.client.request(request(&coordinator.url, head, body)).await {
            // Another one may lead, or know who does.
            Ok(response) if is_not_leading(&response) => {
                status_of(response).await;
                Err(SendError::NotSent)
            }
            Ok(response) => {
                self.last.store(place, Ordering::Relaxed);
                Ok(response)
            }
            Err(error) if error.is_connect() => {
                coordinator.set_ready(false);
                Err(SendError::NotSent)
            }
            Err(error) => {
                let coordinator = &coordinator.url;
                tracing::warn!(%coordinator, %error, "a coordinator broke off");
                self.doubt.notify_waiters();
                Err(SendError::BrokeOff)
            }
        }
    }

    /// Asks all once whether they are ready.
    pub(crate) async fn check(&self) {
        futures_util::future::join_all((0..self.all.len()).map(|place| self.check_one(place))).await;
    }

    /// Asks all again and again whether they are ready, for as long as it is polled.
    pub(crate) async fn watch(&self) {
        futures_util::future::join_all((0..self.all.len()).map(|place| self.watch_one(place))).await;
    }

    async fn watch_one(&self, place: usize) {
        loop {
            self.check_one(place).await;
            tokio::time::sleep(CHECK_PAUSE_MIN).await;
            // A waiter is notified only of doubts that arise from now on.
            let _ = tokio::time::timeout(CHECK_EVERY, self.doubt.notified()).await;
        }
    }

    async fn check_one(&self, place: usize) {
        let coordinator = &self.all[place];
        let head = Head {
            method: Method::GET,
            path: PathAndQuery::from_static("/readyz"),
            headers: HeaderMap::new(),
        };
        let asking = self.client.request(request(&coordinator.url, head, Body::empty()));
        let answer =
            tokio::time::timeout(CHECK_MAX, async { Some(status_of(asking.await.ok()?).await) }).await;
        coordinator.set_ready(answer.ok().flatten() == Some(StatusCode::OK));
    }
}

/// The status of an answer of which nothing else matters. Read to its end, its connection can be used again.
pub(crate) async fn status_of(answer: Response<Incoming>) -> StatusCode {
    let status = answer.status();
    let _ = axum::body::to_bytes(Body::new(answer.into_body()), IGNORED_BYTES_MAX).await;
    status
}

/// True if a server says that nothing was done because it does not lead and found no leader.
pub(crate) fn is_not_leading(answer: &Response<Incoming>) -> bool {
    answer.status() == StatusCode::SERVICE_UNAVAILABLE && answer.headers().contains_key(NOT_LEADING)
}

/// The request as it leaves; where the head names no host it is the coordinator's own.
pub(crate) fn request(url: &CoordinatorUrl, head: Head, body: Body) -> Request<Body> {
    let mut request = Request::new(body);
    *request.method_mut() = head.method;
    *request.uri_mut() = url.join(head.path);
    *request.headers_mut() = head.headers;
    request.headers_mut().entry(header::HOST).or_insert_with(|| url.host_header());
    request
}

const CHECK_EVERY: Duration = Duration::from_secs(1);
/// Doubts come in swarms.
const CHECK_PAUSE_MIN: Duration = Duration::from_millis(20);
const CHECK_MAX: Duration = Duration::from_secs(2);
const IGNORED_BYTES_MAX: usize = 64 * 1024;

/// Address of a coordinator: `http` or `https`, a host and perhaps a port, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinatorUrl {
    scheme: Scheme,
    authority: Authority,
}

/// Error: a text is no address of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no address of a coordinator; write it like http://127.0.0.1:7400, without a path")]
pub struct UrlError(String);

impl FromStr for CoordinatorUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        read(text).ok_or_else(|| UrlError(text.to_owned()))
    }
}

impl CoordinatorUrl {
    /// True for `https`.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// The address of something there.
    pub(crate) fn join(&self, path: PathAndQuery) -> Uri {
        let mut parts = axum::http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).expect("a scheme, an authority and a path make an address")
    }

    /// The name or the address of its machine.
    #[must_use]
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// Value of the header Host.
    pub(crate) fn host_header(&self) -> HeaderValue {
        HeaderValue::from_str(self.authority.as_str()).expect("an authority is visible text")
    }
}

impl std::fmt::Display for CoordinatorUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

/// One of the coordinators.
#[derive(Debug)]
pub(crate) struct Coordinator {
    pub(crate) url: CoordinatorUrl,
    is_ready: AtomicBool,
}

impl Coordinator {
    pub(crate) fn new(url: CoordinatorUrl) -> Self {
        Self { url, is_ready: AtomicBool::new(false) }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    /// Writes down whether it is ready; changes are logged.
    pub(crate) fn set_ready(&self, is_ready: bool) {
        if self.is_ready.swap(is_ready, Ordering::Relaxed) != is_ready {
            let (coordinator, state) = (&self.url, if is_ready { "ready" } else { "not ready" });
            tracing::info!(%coordinator, state, "a coordinator changed");
        }
    }
}

fn read(text: &str) -> Option<CoordinatorUrl> {
    let uri: Uri = text.parse().ok()?;
    let parts = uri.into_parts();
    let scheme = parts.scheme.filter(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS)?;
    let authority = parts.authority.filter(|authority| !authority.as_str().contains('@'))?;
    let is_bare = parts.path_and_query.is_none_or(|path| path == "/");
    (is_bare && !text.contains('#') && !authority.host().is_empty())
        .then_some(CoordinatorUrl { scheme, authority })
}

/// Connections to coordinators, used again while they are good.
pub(crate) type Client = legacy::Client<Connector, Body>;

/// Makes connections.
pub(crate) type Connector = HttpsConnector<HttpConnector>;

/// Reasons why TLS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The system's certificates cannot be used.
    #[error(transparent)]
    Certificates(#[from] std::io::Error),
    /// The TLS library refused its settings.
    #[error(transparent)]
    Settings(#[from] rustls::Error),
}

/// Makes the client. It follows no redirect, and paths leave as they came.
///
/// Certificates of the system are read for `https` only: they cost memory, and a machine may have none.
pub(crate) fn client(needs_tls: bool) -> Result<Client, TlsError> {
    Ok(pooled(connector(needs_tls)?))
}

/// A client that uses such connections again while they are good.
pub(crate) fn pooled<C: Connect + Clone>(connector: C) -> legacy::Client<C, Body> {
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_MAX)
        .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
        .build(connector)
}

/// Makes what makes connections.
pub(crate) fn connector(needs_tls: bool) -> Result<Connector, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let builder = HttpsConnectorBuilder::new();
    let builder = if needs_tls {
        builder.with_provider_and_platform_verifier(provider)?
    } else {
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        builder.with_tls_config(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
    };
    Ok(builder.https_or_http().enable_http1().wrap_connector(sockets()))
}

fn sockets() -> HttpConnector {
    let mut sockets = HttpConnector::new();
    sockets.enforce_http(false);
    sockets.set_nodelay(true);
    sockets.set_connect_timeout(Some(CONNECT_MAX));
    sockets.set_keepalive(Some(KEEP_ALIVE));
    sockets.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL));
    sockets.set_keepalive_retries(Some(KEEP_ALIVE_RETRIES));
    sockets.set_tcp_user_timeout(Some(UNHEARD_MAX));
    sockets
}

/// Much less than the coordinator keeps an idle connection, so that no request meets one that is being closed.
const IDLE_MAX: Duration = Duration::from_secs(15);
const IDLE_CONNECTIONS_MAX: usize = 1024;
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// A machine that vanished without a word is noticed, even by a stream that waits.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEP_ALIVE_RETRIES: u32 = 3;
/// As soon as by a stream that waits, also where something was sent and nobody said that it came.
const UNHEARD_MAX: Duration = Duration::from_secs(11);

#[cfg(test)]
mod tests {
    use super::*;

    /// P16: requests go to http and https addresses and to nothing else.
    #[test]
    fn an_address_has_a_host_and_no_path() {
        for fine in ["http://127.0.0.1:7400", "https://muster.example/", "http://[::1]:7400"] {
            assert!(fine.parse::<CoordinatorUrl>().is_ok(), "{fine}");
        }
        for wrong in [
            "127.0.0.1:7400",
            "ftp://a",
            "unix:/run/muster",
            "http://",
            "http://user:secret@a",
            "http://a/path",
            "http://a?x",
            "http://a/#x",
            "http://a b",
            "",
        ] {
            assert!(wrong.parse::<CoordinatorUrl>().is_err(), "{wrong}");
        }
    }
}
