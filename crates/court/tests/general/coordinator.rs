//! A coordinator that is played: it takes runs, sessions and jobs by key, tells of them in a feed, and has its moods.

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{Method, StatusCode, request::Parts},
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
};
use futures_util::stream;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::watch,
};

/// A call as it came.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) last: Option<String>,
    pub(crate) body: String,
}

/// The memory of the coordinator, across its lives.
pub(crate) struct Memory {
    calls: Mutex<Vec<Call>>,
    ids: Mutex<BTreeMap<String, String>>,
    /// The state of each, by id.
    standing: Mutex<BTreeMap<String, Value>>,
    /// Answers that come first, to anything but the feed.
    moods: Mutex<VecDeque<(StatusCode, Value)>>,
    /// Entries of the feed; each ends something once it is told.
    feed: watch::Sender<Vec<(String, Value, Value)>>,
}

/// A coordinator that runs, apart from the test: when it dies its connections die with it.
pub(crate) struct Coordinator {
    pub(crate) memory: Arc<Memory>,
    address: SocketAddr,
    life: Option<Runtime>,
}

impl Coordinator {
    pub(crate) async fn start() -> Self {
        let memory = Arc::new(Memory {
            calls: Mutex::default(),
            ids: Mutex::default(),
            standing: Mutex::default(),
            moods: Mutex::default(),
            feed: watch::Sender::new(Vec::new()),
        });
        Self::serve(memory, "127.0.0.1:0".parse().unwrap()).await
    }

    async fn serve(memory: Arc<Memory>, address: SocketAddr) -> Self {
        let life = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&memory));
        let listening = life.spawn(async move {
            let listener = TcpListener::bind(address).await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
            address
        });
        Self { memory, address: listening.await.unwrap(), life: Some(life) }
    }

    /// Another server of the same coordinator.
    pub(crate) async fn beside(&self) -> Self {
        Self::serve(Arc::clone(&self.memory), "127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// It dies, with every connection; the memory stays.
    pub(crate) async fn die(mut self) -> (Arc<Memory>, SocketAddr) {
        let life = self.life.take();
        tokio::task::spawn_blocking(move || drop(life)).await.unwrap();
        (Arc::clone(&self.memory), self.address)
    }

    pub(crate) async fn revive(memory: Arc<Memory>, address: SocketAddr) -> Self {
        Self::serve(memory, address).await
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        if let Some(life) = self.life.take() {
            life.shutdown_background();
        }
    }
}

impl Memory {
    /// From now on this is how something stands.
    pub(crate) fn stands(&self, id: &str, standing: Value) {
        self.standing.lock().unwrap().insert(id.to_owned(), standing);
    }

    /// Something ends when, and only when, somebody hears of it in the feed.
    pub(crate) fn ends_when_told(&self, kind: &str, data: Value, standing: Value) {
        self.feed.send_modify(|feed| feed.push((kind.to_owned(), data, standing)));
    }

    /// The next calls but those to the feed are answered so.
    pub(crate) fn moods(&self, moods: &[(u16, Value)]) {
        let moods = moods.iter().map(|(status, body)| (StatusCode::from_u16(*status).unwrap(), body.clone()));
        self.moods.lock().unwrap().extend(moods);
    }

    pub(crate) fn calls(&self, method: &Method, path: &str) -> Vec<Call> {
        let calls = self.calls.lock().unwrap();
        calls.iter().filter(|call| call.method == *method && call.path == path).cloned().collect()
    }

    fn taken(&self, call: &Call) -> Response {
        let key = call.key.clone().unwrap_or_default();
        let body: Value = serde_json::from_str(&call.body).unwrap();
        let mut ids = self.ids.lock().unwrap();
        let number = ids.len() + 7;
        let named = body.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        let id = ids.entry(key).or_insert_with(|| named.unwrap_or_else(|| number.to_string())).clone();
        (StatusCode::CREATED, Json(view(&call.path, &id))).into_response()
    }

    fn shown(&self, path: &str, id: &str) -> Response {
        let mut view = view(path, id);
        if let Some(Value::Object(standing)) = self.standing.lock().unwrap().get(id) {
            view.as_object_mut().unwrap().extend(standing.clone());
        }
        Json(view).into_response()
    }
}

/// Something of a fleet that runs.
fn view(path: &str, id: &str) -> Value {
    if path.starts_with("/jobs") {
        return json!({"id": id.parse::<u64>().unwrap(), "status": "running", "payload": {}, "priority": 0,
            "region": null, "output": null, "output_hash": null, "error_message": null, "artifact_uri": null,
            "metrics_json": null, "created_at": "2026-02-26T00:00:00.000000Z", "finished_at": null});
    }
    if path.starts_with("/api/v1/sessions") {
        return json!({"sessionId": id, "status": "running", "totalFrames": 1, "completedFrames": 0, "complete": false,
            "skippedFrames": 0, "framesPerTask": 1, "qualityMode": "strict", "outputDirectory": "d", "createdAt": 1,
            "endedAt": null});
    }
    let counts = json!({"pending": 0, "running": 0, "completed": 0, "failed": 0, "cancelled": 0});
    json!({"run_id": id, "status": "running", "outcome": "open", "title": null, "workflow_id": "w", "queue": "q",
        "max_attempts": 3, "created_at": 1, "started_at": null, "completed_at": null, "error": null,
        "schedule_id": null, "counts": counts, "per_pc": {}, "total": null, "rate_per_min": 0.0, "eta_ms": null})
}

async fn answer(State(memory): State<Arc<Memory>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let call = call(&parts, body).await;
    memory.calls.lock().unwrap().push(call.clone());
    if call.path == "/api/events" {
        return feed(&memory, call.last);
    }
    if let Some((status, body)) = memory.moods.lock().unwrap().pop_front() {
        return (status, [("retry-after", "1")], Json(body)).into_response();
    }
    let id = call.path.rsplit('/').find(|piece| *piece != "cancel").unwrap_or_default().to_owned();
    match (&call.method, call.path.ends_with("/cancel")) {
        (&Method::POST, true) | (&Method::DELETE, _) => {
            memory.stands(&id, json!({"status": "cancelled"}));
            memory.shown(&call.path, &id)
        }
        (&Method::POST, false) => memory.taken(&call),
        _ => memory.shown(&call.path, &id),
    }
}

async fn call(parts: &Parts, body: Body) -> Call {
    let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    let body = to_bytes(body, 1 << 21).await.unwrap();
    Call {
        method: parts.method.clone(),
        path: parts.uri.path().to_owned(),
        key: header("idempotency-key"),
        token: header("authorization"),
        last: header("last-event-id"),
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

fn feed(memory: &Arc<Memory>, last: Option<String>) -> Response {
    let next = last.and_then(|last| last.parse().ok()).unwrap_or(0);
    let state = Some((Arc::clone(memory), memory.feed.subscribe(), next));
    let entries = stream::unfold(state, |state| async move {
        let (memory, mut receiver, next) = state?;
        let entry = receiver.wait_for(|feed| feed.len() > next).await.ok()?.get(next).cloned()?;
        let (kind, data, standing) = entry;
        memory.stands(standing["told"].as_str().unwrap(), standing.clone());
        let event = Event::default().id((next + 1).to_string()).event(kind).data(data.to_string());
        // An entry may be the last that this connection tells.
        let state = (standing["cut"] != true).then_some((memory, receiver, next + 1));
        Some((Ok::<_, Infallible>(event), state))
    });
    Sse::new(entries).into_response()
}
