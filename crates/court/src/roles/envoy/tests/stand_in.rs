//! Somebody who answers as told, and tells what was asked.

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri},
};
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

/// A server of one's own.
pub(super) struct StandIn {
    pub(super) url: String,
    pub(super) asked: UnboundedReceiver<Asked>,
    answers: Answers,
    serving: JoinHandle<()>,
}

/// What was asked.
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

/// What to answer: a status, the seconds of `Retry-After`, and a body.
pub(super) type Told = (u16, Option<u64>, String);
type Answers = Arc<Mutex<VecDeque<Told>>>;
type Desk = (UnboundedSender<Asked>, Answers);

impl StandIn {
    pub(super) async fn new() -> Self {
        let (tell, asked) = unbounded_channel();
        let answers = Answers::default();
        let router = Router::new().fallback(answer).with_state((tell, Arc::clone(&answers)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, asked, answers, serving }
    }

    /// Adds an answer; once there are none left, everything is well.
    pub(super) fn will_answer(&self, status: u16, retry_after: Option<u64>, body: impl Into<String>) {
        self.answers.lock().unwrap().push_back((status, retry_after, body.into()));
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    State((tell, answers)): State<Desk>,
    (method, uri, headers): (Method, Uri, HeaderMap),
    body: Bytes,
) -> (StatusCode, HeaderMap, String) {
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let _ = tell.send(Asked { method, uri, headers, body });
    let well = (200, None, r#"{"ok":true,"ts":"1700000000.000100","channel":"C1"}"#.to_owned());
    let (status, retry_after, body) = answers.lock().unwrap().pop_front().unwrap_or(well);
    let mut headers = HeaderMap::new();
    if let Some(seconds) = retry_after {
        headers.insert("Retry-After", seconds.into());
    }
    headers.insert("Location", "/elsewhere".parse().unwrap());
    (StatusCode::from_u16(status).unwrap(), headers, body)
}
