//! A stand-in for Slack: takes posts, and remembers which message each was.

use crate::failure::Failure;
use axum::{Json, Router, extract::State, http::HeaderMap, routing::post};
use serde_json::{Value, json};
use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{net::TcpListener, task::JoinHandle};

/// The stand-in; it closes when this is dropped.
pub(super) struct Slack {
    pub(super) url: String,
    /// What opens it.
    pub(super) token: String,
    hall: Arc<Hall>,
    listening: JoinHandle<()>,
}

/// What was posted.
struct Hall {
    token: String,
    posts: Mutex<Vec<String>>,
}

impl Slack {
    pub(super) async fn open() -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let token: String = rand::random::<[u8; 16]>().iter().map(|byte| format!("{byte:02x}")).collect();
        let hall = Arc::new(Hall { token: token.clone(), posts: Mutex::default() });
        let router = Router::new().route("/chat.postMessage", post(take)).with_state(Arc::clone(&hall));
        let listening = tokio::spawn(muster_http::listen(listener, router, std::future::pending()));
        Ok(Self { url, token, hall, listening })
    }

    /// The messages that were posted, by their ids, as often as they were.
    pub(super) fn posts(&self) -> Vec<String> {
        self.hall.posts().clone()
    }
}

impl Drop for Slack {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Hall {
    fn posts(&self) -> MutexGuard<'_, Vec<String>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers as Slack does, which says no with a status of 200 as well.
async fn take(State(hall): State<Arc<Hall>>, headers: HeaderMap, Json(message): Json<Value>) -> Json<Value> {
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    if shown != Some(hall.token.as_str()) {
        return Json(json!({"ok": false, "error": "invalid_auth"}));
    }
    let Some(id) = message.pointer("/metadata/event_payload/id").and_then(Value::as_str) else {
        return Json(json!({"ok": false, "error": "invalid_metadata_format"}));
    };
    let mut posts = hall.posts();
    posts.push(id.to_owned());
    Json(json!({"ok": true, "channel": "C0DEMO", "ts": format!("{}.000100", 1_700_000_000 + posts.len())}))
}
