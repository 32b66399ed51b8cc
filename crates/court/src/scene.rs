//! A server that plays the outside for the tests of several roles.

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, Method, Response, StatusCode, Uri},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, VecDeque},
    iter,
    sync::{Arc, Mutex},
};
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    task::JoinHandle,
};

/// A server that answers as a test says, and keeps what it was asked.
pub(super) struct FakeServer {
    pub(super) url: String,
    requests: tokio::sync::Mutex<UnboundedReceiver<ReceivedRequest>>,
    planned: Arc<Mutex<VecDeque<Reply>>>,
    serving: JoinHandle<()>,
}

/// One request.
#[derive(Clone, Debug)]
pub(super) struct ReceivedRequest {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) path: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

pub(super) type Reply = Response<Body>;

impl FakeServer {
    /// A server that answers with `answer` once no planned answer is left.
    pub(super) async fn new(answer: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static) -> Self {
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
    pub(super) fn will_answer(&self, reply: Reply) {
        self.planned.lock().unwrap().push_back(reply);
    }

    /// Waits for the next request.
    pub(super) async fn next(&self) -> ReceivedRequest {
        self.requests.lock().await.recv().await.unwrap()
    }

    /// All requests since the last one that was looked at.
    pub(super) fn asked(&self) -> Vec<ReceivedRequest> {
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

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

pub(super) fn reply(status: u16, headers: &[(&str, &str)], body: impl Into<Body>) -> Reply {
    let mut reply = Response::builder().status(StatusCode::from_u16(status).unwrap());
    for (name, value) in headers {
        reply = reply.header(*name, *value);
    }
    reply.body(body.into()).unwrap()
}
