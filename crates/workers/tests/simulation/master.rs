//! A stand-in of the master: takes whatever a worker says, and answers as the test wants.

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::watch,
};

/// A call of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// `POST workers/W1/heartbeat`.
    pub(crate) what: String,
    /// The address of the server that was called.
    pub(crate) at: String,
    pub(crate) body: Bytes,
    /// The token, or the secret.
    pub(crate) credential: String,
}

impl Call {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What the master says.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) calls: Vec<Call>,
    /// Tasks to be handed out.
    pub(crate) tasks: VecDeque<Value>,
    /// Said once, to the next heartbeat.
    pub(crate) commands: Vec<Value>,
    pub(crate) factor: f64,
    pub(crate) epoch: u64,
    answers: BTreeMap<&'static str, VecDeque<u16>>,
    /// Nothing but 503.
    pub(crate) is_down: bool,
    /// The term is told in a header alone.
    pub(crate) is_tacit: bool,
    /// Servers that were replaced and do not know it: they know nobody.
    pub(crate) deposed: BTreeMap<String, u64>,
    /// Servers that say nothing at all.
    pub(crate) silent: BTreeSet<String>,
    next_id: u64,
}

/// A stand-in of the master: one of its servers, apart from the test, so that its connections end with it.
pub(crate) struct StandIn {
    pub(crate) url: String,
    desk: Desk,
    life: Option<Runtime>,
}

#[derive(Clone)]
struct Desk {
    url: String,
    script: Arc<Mutex<Script>>,
    changed: watch::Sender<()>,
}

impl StandIn {
    /// Starts with answers that are given once each, by the end of the path; 0 is an answer that breaks off.
    pub(crate) async fn start(answers: &[(&'static str, u16)]) -> Self {
        let mut script = Script { factor: 1.0, epoch: 1, next_id: 9_000_000, ..Script::default() };
        for (end, status) in answers {
            script.answer_once(end, *status);
        }
        Self::serve(Arc::new(Mutex::new(script)), watch::Sender::new(()))
    }

    /// Another server of the same master: it knows and says the same.
    pub(crate) fn beside(&self) -> Self {
        Self::serve(Arc::clone(&self.desk.script), self.desk.changed.clone())
    }

    /// Is killed: whatever was connected with it is cut off.
    pub(crate) fn die(&mut self) {
        if let Some(life) = self.life.take() {
            life.shutdown_background();
        }
    }

    fn serve(script: Arc<Mutex<Script>>, changed: watch::Sender<()>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let desk = Desk { url: url.clone(), script, changed };
        let routes = Router::new().fallback(answer).with_state(desk.clone());
        let life = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        life.spawn(async move { axum::serve(TcpListener::from_std(listener).unwrap(), routes).await });
        Self { url, desk, life: Some(life) }
    }

    /// What is said and was heard.
    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.desk.script.lock().unwrap()
    }

    pub(crate) fn hand_out(&self, task: Value) {
        self.script().tasks.push_back(task);
        self.desk.changed.send_replace(());
    }

    /// The first call of a kind at this very server, once it came.
    pub(crate) async fn first(&self, what: &str) -> Call {
        let is_it = |call: &&Call| call.what == what && call.at == self.url;
        self.until(|script| script.calls.iter().find(is_it).cloned()).await
    }

    /// The nth call of a kind, once it came.
    pub(crate) async fn nth(&self, what: &str, n: usize) -> Call {
        let found = |script: &Script| script.calls.iter().filter(|call| call.what == what).nth(n).cloned();
        self.until(found).await
    }

    /// How many calls of a kind came.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.script().calls.iter().filter(|call| call.what == what).count()
    }

    /// Waits until something can be said of what was heard.
    pub(crate) async fn until<T>(&self, found: impl Fn(&Script) -> Option<T>) -> T {
        let mut changed = self.desk.changed.subscribe();
        let waiting = async {
            loop {
                changed.borrow_and_update();
                if let Some(found) = found(&self.script()) {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(Duration::from_secs(60), waiting).await {
            Ok(found) => found,
            Err(_) => {
                let heard = |call: &Call| format!("{} {}", call.at, call.what);
                let heard: Vec<String> = self.script().calls.iter().map(heard).collect();
                panic!("it never happened; heard: {heard:?}");
            }
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.die();
    }
}

async fn answer(State(desk): State<Desk>, request: Request) -> Response {
    let path = request.uri().path().trim_start_matches("/api/v1/").to_owned();
    let credential = request.headers().get("x-worker-token").or(request.headers().get("authorization"));
    let credential = credential.map_or("", |value| value.to_str().unwrap()).to_owned();
    let what = format!("{} {path}", request.method());
    let body = axum::body::to_bytes(request.into_body(), 10 << 20).await.unwrap();
    let is_pull = what.starts_with("GET workers/");
    let call = Call { what, at: desk.url.clone(), body, credential };
    let (answer, is_silent) = {
        let mut script = desk.script.lock().unwrap();
        script.calls.push(call.clone());
        (script.answer(&path, &call), script.silent.contains(&desk.url))
    };
    desk.changed.send_replace(());
    if is_silent {
        return std::future::pending().await;
    }
    let mut answer = match answer {
        Some(answer) => answer,
        None if is_pull => wait_for_task(&desk).await,
        None => StatusCode::NOT_FOUND.into_response(),
    };
    let epoch = desk.script.lock().unwrap().epoch_at(&desk.url);
    answer.headers_mut().insert("muster-epoch", epoch.into());
    answer
}

/// Holds a pull back until there is something to do.
async fn wait_for_task(desk: &Desk) -> Response {
    let mut changed = desk.changed.subscribe();
    loop {
        changed.borrow_and_update();
        let task = desk.script.lock().unwrap().tasks.pop_front();
        if let Some(task) = task {
            return axum::Json(json!({"task": task})).into_response();
        }
        changed.changed().await.unwrap();
    }
}

impl Script {
    /// Has the next call whose path ends so answered so.
    pub(crate) fn answer_once(&mut self, end: &'static str, status: u16) {
        self.answers.entry(end).or_default().push_back(status);
    }

    fn answer(&mut self, path: &str, call: &Call) -> Option<Response> {
        let end = path.rsplit('/').next().unwrap_or_default();
        if self.is_down {
            return Some(StatusCode::SERVICE_UNAVAILABLE.into_response());
        }
        match self.answers.get_mut(end).and_then(VecDeque::pop_front) {
            Some(0) => return Some(torn()),
            Some(status) => return Some(StatusCode::from_u16(status).unwrap().into_response()),
            None => {}
        }
        let is_known = call.credential == self.token() && !self.deposed.contains_key(&call.at);
        if end != "register" && !is_known {
            return Some(StatusCode::UNAUTHORIZED.into_response());
        }
        let body = match end {
            "register" => {
                json!({"workerToken": self.token(), "heartbeatIntervalMs": BEAT_MS, "epoch": self.epoch,
                "idRangeEndpoint": "/api/v1/id-ranges"})
            }
            "heartbeat" | "rebind" => {
                json!({"state": "Healthy", "epoch": (!self.is_tacit).then_some(self.epoch),
                "backpressure": {"level": "ok", "factor": self.factor},
                "commands": std::mem::take(&mut self.commands)})
            }
            "id-ranges" => {
                self.next_id += 100;
                json!({"chunkId": self.next_id, "range": [self.next_id, self.next_id + 100]})
            }
            "tasks" => return None,
            _ => json!({}),
        };
        Some(axum::Json(body).into_response())
    }

    /// The term that a server believes to be in.
    fn epoch_at(&self, url: &str) -> u64 {
        self.deposed.get(url).copied().unwrap_or(self.epoch)
    }

    /// The token of the latest registration.
    pub(crate) fn token(&self) -> String {
        let registered = self.calls.iter().filter(|call| call.what == "POST workers/register").count();
        format!("token-{registered}")
    }
}

/// An answer that breaks off.
fn torn() -> Response {
    let stream = futures_util::stream::iter([Ok("{"), Err(std::io::Error::other("the network is gone"))]);
    Body::from_stream(stream).into_response()
}

/// Often, so that nobody has to wait long for a worker to give up; not so often that a busy machine makes it do so.
const BEAT_MS: u64 = 300;
