//! Helpers of tests: a court of its own, a disk that dies, and a server that plays the outside.

use crate::{Document, Folder, Fuse, Id, Operation, Place};
use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, Method, Response, StatusCode, Uri},
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    io, iter,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinHandle,
};

/// A court in a directory of its own.
pub(crate) fn court() -> (tempfile::TempDir, Folder) {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::open(home.path()).unwrap();
    (home, folder)
}

pub(crate) fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

/// The moment at which most stories begin.
pub(crate) fn now() -> Timestamp {
    "2026-02-07T10:00:00Z".parse().unwrap()
}

/// So many seconds after [`now`].
pub(crate) fn later(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The documents of a place, in the order of their ids.
pub(crate) fn documents(folder: &Folder, place: Place) -> Vec<Document> {
    let mut ids = folder.ids(place).unwrap();
    ids.sort();
    ids.iter().map(|id| folder.read(place, id).unwrap()).collect()
}

/// A disk that does so many operations, and none after them.
pub(crate) struct Countdown {
    left: AtomicUsize,
    done: AtomicUsize,
}

impl Countdown {
    pub(crate) fn of(operations: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(operations), done: AtomicUsize::new(0) })
    }

    /// Does so many more operations from now on.
    pub(crate) fn allow(&self, operations: usize) {
        self.left.store(operations, Ordering::SeqCst);
    }

    /// Number of operations that were done.
    pub(crate) fn done(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }
}

impl Fuse for Countdown {
    fn before(&self, _: &Operation) -> io::Result<()> {
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_err(|_| io::Error::other("the world has ended"))?;
        self.done.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// A server that answers as a test says, and keeps what it was asked.
pub(crate) struct FakeServer {
    pub(crate) url: String,
    requests: tokio::sync::Mutex<UnboundedReceiver<ReceivedRequest>>,
    planned: Arc<Mutex<VecDeque<Reply>>>,
    serving: JoinHandle<()>,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

pub(crate) type Reply = Response<Body>;

impl FakeServer {
    /// A server that answers with `answer` once no planned answer is left.
    pub(crate) async fn new(answer: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, requests) = unbounded_channel();
        let planned: Arc<Mutex<VecDeque<Reply>>> = Arc::default();
        let (answer, next) = (Arc::new(answer), Arc::clone(&planned));
        let router = Router::new().fallback(move |request: Request| {
            let (answer, next, sender) = (Arc::clone(&answer), Arc::clone(&next), sender.clone());
            async move {
                let request = ReceivedRequest::of(request).await;
                let planned = next.lock().unwrap().pop_front();
                let reply = planned.unwrap_or_else(|| answer(&request));
                let _ = sender.send(request);
                reply
            }
        });
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, requests: tokio::sync::Mutex::new(requests), planned, serving }
    }

    /// Plans an answer to the next request.
    pub(crate) fn will_answer(&self, reply: Reply) {
        self.planned.lock().unwrap().push_back(reply);
    }

    /// Waits for the next request.
    pub(crate) async fn next(&self) -> ReceivedRequest {
        self.requests.lock().await.recv().await.unwrap()
    }

    /// All requests since the last one that was looked at.
    pub(crate) fn asked(&self) -> Vec<ReceivedRequest> {
        let mut requests = self.requests.try_lock().unwrap();
        iter::from_fn(|| requests.try_recv().ok()).collect()
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl ReceivedRequest {
    async fn of(request: Request) -> Self {
        let (head, body) = request.into_parts();
        let url = reqwest::Url::parse("http://here").unwrap().join(&head.uri.to_string()).unwrap();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
        Self {
            path: url.path().to_owned(),
            query: url.query_pairs().into_owned().collect(),
            method: head.method,
            uri: head.uri,
            headers: head.headers,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

pub(crate) fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Reply {
    let mut reply = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        reply = reply.header(*name, *value);
    }
    reply.body(body.into()).unwrap()
}
