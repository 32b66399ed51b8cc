//! A stand-in for Slack: accepts posts and remembers the id of each message.

use crate::failure::Failure;
use axum::{Json, Router, extract::State, http::HeaderMap, routing::post};
use serde_json::{Value, json};
use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{net::TcpListener, task::JoinHandle};

/// The stand-in; it stops when this is dropped.
pub(super) struct Slack {
    pub(super) url: String,
    /// The token that it accepts.
    pub(super) token: String,
    channel: Arc<Channel>,
    listening: JoinHandle<()>,
}

/// The posted messages.
struct Channel {
    token: String,
    posts: Mutex<Vec<String>>,
}

impl Slack {
    pub(super) async fn open() -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let token: String = rand::random::<[u8; 16]>().iter().map(|byte| format!("{byte:02x}")).collect();
        let channel = Arc::new(Channel { token: token.clone(), posts: Mutex::default() });
        let router = Router::new().route("/chat.postMessage", post(accept)).with_state(Arc::clone(&channel));
        let listening = tokio::spawn(muster_http::listen(listener, router, std::future::pending()));
        Ok(Self { url, token, channel, listening })
    }

    /// Ids of the posted messages, repeats included.
    pub(super) fn posts(&self) -> Vec<String> {
        self.channel.posts().clone()
    }
}

impl Drop for Slack {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Channel {
    fn posts(&self) -> MutexGuard<'_, Vec<String>> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers as Slack does: a refusal has the status 200, too.
async fn accept(
    State(channel): State<Arc<Channel>>,
    headers: HeaderMap,
    Json(message): Json<Value>,
) -> Json<Value> {
    let shown = headers.get("authorization").and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    if shown != Some(channel.token.as_str()) {
        return Json(json!({"ok": false, "error": "invalid_auth"}));
    }
    let Some(id) = message.pointer("/metadata/event_payload/id").and_then(Value::as_str) else {
        return Json(json!({"ok": false, "error": "invalid_metadata_format"}));
    };
    let mut posts = channel.posts();
    posts.push(id.to_owned());
    Json(json!({"ok": true, "channel": "C0DEMO", "ts": format!("{}.000100", 1_700_000_000 + posts.len())}))
}
