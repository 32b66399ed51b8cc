//! A stand-in of the server: keeps what a worker needs of contract P, and loses answers as the test wants.

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use muster_proof::{PublicKey, decode_signature, signed_bytes};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, VecDeque},
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
    /// `POST jobs/submit`; a poll that resumes is `POST jobs/resume`.
    pub(crate) what: String,
    /// The address that was called.
    pub(crate) at: String,
    pub(crate) body: Bytes,
    pub(crate) token: String,
}

impl Call {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// It is done, and the answer breaks off.
    Lost,
    /// It is not done: this status with these words.
    Status(u16, &'static str),
}

/// What the server knows.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) calls: Vec<Call>,
    /// Given once each, by the end of the path.
    pub(crate) faults: BTreeMap<&'static str, VecDeque<Fault>>,
    /// Given always, by the end of the path.
    pub(crate) standing: BTreeMap<&'static str, Fault>,
    tokens: u64,
    is_token_over: bool,
    /// The key of worker 7, once it is registered.
    pub(crate) key: Option<String>,
    /// Other workers of the same owner.
    pub(crate) others: Vec<Value>,
    /// Payloads by assignment that wait for a poll.
    pub(crate) queue: VecDeque<(u64, Value)>,
    pub(crate) started: BTreeMap<u64, Value>,
    /// The bodies that were taken.
    pub(crate) results: BTreeMap<u64, Bytes>,
}

/// A stand-in of the server, apart from the test, so that its connections end with it.
pub(crate) struct StandIn {
    pub(crate) url: String,
    counter: Counter,
    life: Option<Runtime>,
}

#[derive(Clone)]
struct Counter {
    url: String,
    desk: Arc<Mutex<Desk>>,
    changed: watch::Sender<()>,
}

impl StandIn {
    pub(crate) async fn start() -> Self {
        Self::serve(Arc::default(), watch::Sender::new(()))
    }

    /// Another server over the same store.
    pub(crate) fn beside(&self) -> Self {
        Self::serve(Arc::clone(&self.counter.desk), self.counter.changed.clone())
    }

    /// Is killed: whatever was connected with it is cut off.
    pub(crate) fn die(&mut self) {
        if let Some(life) = self.life.take() {
            life.shutdown_background();
        }
    }

    fn serve(desk: Arc<Mutex<Desk>>, changed: watch::Sender<()>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let counter = Counter { url: url.clone(), desk, changed };
        let routes = Router::new().fallback(answer).with_state(counter.clone());
        let life = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        life.spawn(async move { axum::serve(TcpListener::from_std(listener).unwrap(), routes).await });
        Self { url, counter, life: Some(life) }
    }

    pub(crate) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.counter.desk.lock().unwrap()
    }

    pub(crate) fn hand_out(&self, assignment: u64, payload: Value) {
        self.desk().queue.push_back((assignment, payload));
        self.counter.changed.send_replace(());
    }

    pub(crate) fn fail_once(&self, end: &'static str, fault: Fault) {
        self.desk().faults.entry(end).or_default().push_back(fault);
    }

    pub(crate) fn fail_always(&self, end: &'static str, fault: Option<Fault>) {
        let mut desk = self.desk();
        desk.standing.remove(end);
        desk.standing.extend(fault.map(|fault| (end, fault)));
    }

    /// The token that was given last is over.
    pub(crate) fn end_token(&self) {
        self.desk().is_token_over = true;
    }

    /// The nth call of a kind, once it came.
    pub(crate) async fn nth(&self, what: &str, n: usize) -> Call {
        self.until(|desk| desk.calls.iter().filter(|call| call.what == what).nth(n).cloned()).await
    }

    /// The first call of a kind at this very server, once it came.
    pub(crate) async fn first(&self, what: &str) -> Call {
        let is_it = |call: &&Call| call.what == what && call.at == self.url;
        self.until(|desk| desk.calls.iter().find(is_it).cloned()).await
    }

    /// The result of an assignment, once it was taken.
    pub(crate) async fn result(&self, assignment: u64) -> Value {
        let body = self.until(|desk| desk.results.get(&assignment).cloned()).await;
        serde_json::from_slice(&body).unwrap()
    }

    /// What was called, in order, heartbeats left out.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = self.desk().calls.clone();
        calls.into_iter().map(|call| call.what).filter(|what| what != "POST workers/heartbeat").collect()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.desk().calls.iter().filter(|call| call.what == what).count()
    }

    /// Waits until something can be said of what was heard.
    pub(crate) async fn until<T>(&self, found: impl Fn(&Desk) -> Option<T>) -> T {
        let mut changed = self.counter.changed.subscribe();
        let waiting = async {
            loop {
                changed.borrow_and_update();
                if let Some(found) = found(&self.desk()) {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(Duration::from_secs(60), waiting).await {
            Ok(found) => found,
            Err(_) => panic!("it never happened; heard: {:?}", self.calls()),
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.die();
    }
}

async fn answer(State(counter): State<Counter>, request: Request) -> Response {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let token = request.headers().get("authorization").map_or("", |value| value.to_str().unwrap());
    let token = token.trim_start_matches("Bearer ").to_owned();
    let method = request.method().to_string();
    let body = axum::body::to_bytes(request.into_body(), 10 << 20).await.unwrap();
    let json: Value = serde_json::from_slice(&body).unwrap_or_default();
    let path = if json["resume"] == true { "jobs/resume".to_owned() } else { path };
    let what = format!("{method} {path}");
    let (done, fault) = {
        let mut desk = counter.desk.lock().unwrap();
        let at = counter.url.clone();
        desk.calls.push(Call { what: what.clone(), at, body: body.clone(), token: token.clone() });
        let end = path.rsplit('/').next().unwrap_or_default();
        let fault =
            desk.faults.get_mut(end).and_then(VecDeque::pop_front).or(desk.standing.get(end).copied());
        match fault {
            Some(Fault::Status(status, detail)) => (Some(problem(status, detail)), None),
            fault => (desk.answer(&what, &token, &body), fault),
        }
    };
    counter.changed.send_replace(());
    let done = match done {
        Some(done) => done,
        None => wait_for_work(&counter).await,
    };
    if fault.is_some() { torn() } else { done }
}

/// Holds a poll back until there is something to do.
async fn wait_for_work(counter: &Counter) -> Response {
    let mut changed = counter.changed.subscribe();
    loop {
        changed.borrow_and_update();
        if let Some(handed) = counter.desk.lock().unwrap().hand_out() {
            return Json(handed).into_response();
        }
        changed.changed().await.unwrap();
    }
}

impl Desk {
    /// Answers a call; nothing where it has to wait.
    fn answer(&mut self, what: &str, token: &str, body: &Bytes) -> Option<Response> {
        if what == "POST auth/login" {
            let is_right = body == "username=owner&password=pass";
            return Some(if is_right {
                self.admit()
            } else {
                problem(401, "Incorrect username or password")
            });
        }
        if token != format!("token-{}", self.tokens) || self.is_token_over {
            return Some(problem(401, "Invalid token"));
        }
        let json: Value = serde_json::from_slice(body).unwrap_or_default();
        Some(match what {
            "POST auth/refresh" => self.admit(),
            "GET workers" => {
                let known = self.key.iter().map(|key| worker(key));
                let known = self.others.iter().cloned().chain(known).collect::<Vec<_>>();
                Json(json!({ "workers": known })).into_response()
            }
            "POST workers/register" | "PUT workers/7/key" => {
                self.key = Some(json["public_key"].as_str().unwrap().to_owned());
                Json(worker(self.key.as_deref().unwrap())).into_response()
            }
            "POST workers/heartbeat" => Json(json!({"worker_id": 7, "last_seen_at": "now"})).into_response(),
            "POST jobs/resume" => {
                let started = self.started.iter().map(|(id, payload)| handed(*id, payload));
                Json(json!({"assignments": started.collect::<Vec<_>>()})).into_response()
            }
            "POST jobs/poll" => return self.hand_out().map(|handed| Json(handed).into_response()),
            "POST jobs/submit" => self.submit(&json, body),
            _ => problem(404, "no such page"),
        })
    }

    fn admit(&mut self) -> Response {
        (self.tokens, self.is_token_over) = (self.tokens + 1, false);
        Json(json!({"access_token": format!("token-{}", self.tokens), "token_type": "bearer", "expires_in": 900}))
            .into_response()
    }

    fn hand_out(&mut self) -> Option<Value> {
        let (id, payload) = self.queue.pop_front()?;
        self.started.insert(id, payload.clone());
        Some(handed(id, &payload))
    }

    /// P8, in its order, as far as it matters here.
    fn submit(&mut self, json: &Value, body: &Bytes) -> Response {
        let id = json["assignment_id"].as_u64().unwrap();
        let signature = decode_signature(json["signature"].as_str().unwrap()).unwrap();
        let signed = signed_bytes(id, json["nonce"].as_str().unwrap(), json["output_hash"].as_str());
        let key = PublicKey::decode(self.key.as_deref().unwrap()).unwrap();
        if !key.verify(&signed, &signature) {
            return problem(400, "Signature verification failed");
        }
        if json["nonce"] != nonce(id) {
            return problem(400, "Invalid nonce");
        }
        match self.results.get(&id) {
            Some(taken) if taken == body => {
                let mut answer = problem(409, "Assignment already submitted");
                answer.headers_mut().insert("muster-identical", "true".parse().unwrap());
                answer
            }
            Some(_) => problem(409, "Assignment already submitted"),
            None if self.started.remove(&id).is_none() => {
                problem(409, "Assignment is not in a submittable state")
            }
            None => {
                self.results.insert(id, body.clone());
                Json(json!({"assignment_id": id, "status": "completed", "finished_at": "now"}))
                    .into_response()
            }
        }
    }
}

fn worker(key: &str) -> Value {
    json!({"id": 7, "name": "W", "owner_user_id": 1, "status": "offline", "region": null, "specs_json": null,
        "public_key": key, "last_seen_at": null})
}

fn handed(id: u64, payload: &Value) -> Value {
    json!({"assignment_id": id, "job": payload, "nonce": nonce(id), "cost_hint_tokens": 0})
}

fn nonce(id: u64) -> String {
    format!("nonce-{id}")
}

fn problem(status: u16, detail: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    let body = json!({"type": "about:blank", "status": status.as_u16(), "detail": detail});
    let mut answer = (status, Json(body)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert("retry-after", "0".parse().unwrap());
    }
    answer
}

/// An answer that breaks off.
fn torn() -> Response {
    let stream = futures_util::stream::iter([Ok("{"), Err(std::io::Error::other("the network is gone"))]);
    Body::from_stream(stream).into_response()
}
