//! All coordinators behind a gateway, and which of them is asked (P16).

use crate::{
    client::{Client, TlsError, client},
    coordinator::{Coordinator, CoordinatorUrl},
};
use axum::{
    body::Body,
    http::{HeaderMap, Method, Request, Response, StatusCode, header, uri::PathAndQuery},
};
use hyper::body::Incoming;
use muster_http::NOT_LEADING;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

/// The coordinators, of which at most one leads.
pub(crate) struct Coordinators {
    all: Vec<Arc<Coordinator>>,
    /// Who answered last; it most likely leads still.
    last: AtomicUsize,
    client: Client,
    doubt: Notify,
}

/// What is sent: a request without its body, which each try takes anew.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) path: PathAndQuery,
    pub(crate) headers: HeaderMap,
}

/// Why there is no answer.
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
            // Who waits for the doubts of others is told of those that arise from now on.
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

/// Whether a server says that nothing was done because it does not lead and found nobody who does.
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
