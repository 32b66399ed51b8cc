//! A server to talk to, and workers that do.

use axum::{
    Router,
    body::Body,
    http::{Request, Response, header},
};
use muster_coordinator::{Coordinator, ManualClock, Options};
use muster_http::{HttpSettings, HttpState, Keys, Peer, assemble};
use muster_model::{FrameQuery, Millis, Timestamp};
use muster_simulation::{Checkpoint, Simulation, SimulationSettings, output::OutputRoot};
use muster_store::{Candidate, MemoryStore};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, sync::Arc};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tower::ServiceExt;

pub(crate) const ADMIN: &str = "admin-token";
pub(crate) const NODE: &str = "node-secret";
pub(crate) const ENROL: &str = "enrol-secret";

/// The advertised address of the server.
pub(crate) const ADVERTISED: &str = "http://10.0.0.7:7400";

/// One life of a server.
pub(crate) struct World {
    pub(crate) app: Router,
    pub(crate) coordinator: Coordinator,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) place: Arc<TempDir>,
    store: Arc<MemoryStore>,
    effects: JoinHandle<()>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

/// A worker that registered.
pub(crate) struct Worker<'w> {
    world: &'w World,
    pub(crate) id: String,
    pub(crate) token: String,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(HttpSettings::default()).await
    }

    pub(crate) async fn with(settings: HttpSettings) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp(1_700_000_000_000)));
        let place = Arc::new(TempDir::new().unwrap());
        Self::live(Arc::new(MemoryStore::new()), place, clock, settings).await
    }

    /// Another life on the same store and the same disk.
    pub(crate) async fn reborn(self) -> Self {
        self.coordinator.stop().await;
        let (store, place, clock) = (&self.store, &self.place, &self.clock);
        Self::live(Arc::clone(store), Arc::clone(place), Arc::clone(clock), HttpSettings::default()).await
    }

    /// A life on a new store that was restored from a checkpoint of this one (S20), on the same disk.
    pub(crate) async fn restored(self, checkpoint: &[u8]) -> Self {
        self.coordinator.stop().await;
        let store = Arc::new(MemoryStore::new());
        Checkpoint::read(checkpoint).unwrap().restore(&*store, self.place.path()).unwrap();
        let (place, clock) = (Arc::clone(&self.place), Arc::clone(&self.clock));
        Self::live(store, place, clock, HttpSettings::default()).await
    }

    async fn live(
        store: Arc<MemoryStore>,
        place: Arc<TempDir>,
        clock: Arc<ManualClock>,
        settings: HttpSettings,
    ) -> Self {
        let by = Arc::<ManualClock>::clone(&clock);
        let candidate = Candidate { node: "n1".to_owned(), address: ADVERTISED.to_owned() };
        let options = Options::default();
        let coordinator =
            Coordinator::join_with_clock(Arc::clone(&store) as _, options, candidate, by).unwrap();
        coordinator.frames(FrameQuery::Status).await.unwrap();
        let keys = Keys::new(NODE, ADMIN).enrolling(ENROL);
        let http = HttpState::new(coordinator.clone(), keys, settings);
        let output = OutputRoot::open(place.path()).unwrap();
        let settings = SimulationSettings {
            endpoint_allow: vec!["gpu-7.lab".to_owned()],
            ..SimulationSettings::default()
        };
        let simulation = Simulation::new(coordinator.clone(), output, settings);
        let app = assemble(http.clone(), muster_simulation::routes(&http, simulation.clone()));
        let effects = tokio::spawn(async move { simulation.run_effects().await });
        Self { app, coordinator, clock, place, store, effects }
    }

    pub(crate) async fn respond(&self, request: Request<Body>) -> Response<Body> {
        self.app.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.respond(request).await;
        let status = response.status().as_u16();
        let bytes = axum::body::to_bytes(response.into_body(), 100_000_000).await.unwrap();
        Answer { status, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) }
    }

    /// Calls with a bearer token; `POST /path` or the like.
    pub(crate) async fn call(&self, route: &str, token: &str, body: Value) -> Answer {
        self.send(request(route, token, body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.call(&format!("GET /api/v1/{path}"), ADMIN, Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(&format!("POST /api/v1/{path}"), ADMIN, body).await
    }

    /// Registers a worker, and has it send the heartbeat that work waits for (S8).
    pub(crate) async fn register(&self, id: &str) -> Worker<'_> {
        let worker =
            self.register_as(json!({"workerId": id, "role": "sim", "capabilities": {"gpu": "x"}})).await;
        worker.beat(0.1).await;
        worker
    }

    pub(crate) async fn register_as(&self, body: Value) -> Worker<'_> {
        let answer = self.call("POST /api/v1/workers/register", ENROL, body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        let text = |key: &str| answer.body[key].as_str().unwrap().to_owned();
        Worker { world: self, id: text("workerId"), token: text("workerToken") }
    }

    /// A worker that registered in an earlier life.
    pub(crate) fn known(&self, id: &str, token: &str) -> Worker<'_> {
        Worker { world: self, id: id.to_owned(), token: token.to_owned() }
    }

    /// A checkpoint, letter by letter.
    pub(crate) async fn checkpoint(&self) -> Vec<u8> {
        let response = self.respond(request("GET /api/v1/checkpoint", ADMIN, Value::Null)).await;
        axum::body::to_bytes(response.into_body(), 10_000_000).await.unwrap().to_vec()
    }

    /// The text of `/metrics`.
    pub(crate) async fn metrics(&self) -> String {
        let response = self.respond(request("GET /metrics", ADMIN, Value::Null)).await;
        let bytes = axum::body::to_bytes(response.into_body(), 1_000_000).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Submits session `s1`.
    pub(crate) async fn session(&self, frames: u64, per_task: u64) {
        self.session_as(json!({"sessionId": "s1", "totalFrames": frames, "framesPerTask": per_task})).await;
    }

    pub(crate) async fn session_as(&self, body: Value) {
        let answer = self.post("sessions", body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }

    /// Lets time pass; whoever says nothing meanwhile has said nothing.
    pub(crate) async fn pass(&self, millis: i64) {
        self.clock.advance(Millis(millis));
        self.coordinator.frames(FrameQuery::Status).await.unwrap();
    }

    /// Looks after everything that becomes durable until it is as wanted.
    pub(crate) async fn until(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        loop {
            let newest = self.coordinator.feed().newest().unwrap();
            let answer = self.get(path).await;
            if is_so(&answer.body) {
                return answer.body;
            }
            self.coordinator.feed().after(newest).await.unwrap();
        }
    }

    /// The manifest of session `s1`.
    pub(crate) fn manifest(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("session_s1/meta/manifest.json")).unwrap()).unwrap()
    }

    pub(crate) fn path(&self, below_root: &str) -> PathBuf {
        self.place.path().join(below_root)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.effects.abort();
    }
}

impl Worker<'_> {
    pub(crate) async fn call(&self, route: &str, body: Value) -> Answer {
        self.world.call(route, &self.token, body).await
    }

    pub(crate) async fn beat(&self, queue_ratio: f64) -> Value {
        let answer = self.beat_as(json!({"queueRatio": queue_ratio, "status": "ok"})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    pub(crate) async fn beat_as(&self, body: Value) -> Answer {
        self.call(&format!("POST /api/v1/workers/{}/heartbeat", self.id), body).await
    }

    /// Heartbeats until it is Healthy.
    pub(crate) async fn healthy(self) -> Self {
        for _ in 0..3 {
            self.beat(0.1).await;
        }
        self
    }

    pub(crate) async fn pull(&self) -> Answer {
        self.call(&format!("GET /api/v1/workers/{}/tasks", self.id), Value::Null).await
    }

    /// Pulls a task that must be there.
    pub(crate) async fn task(&self) -> Value {
        let answer = self.pull().await;
        assert!(answer.status == 200 && answer.body["task"].is_object(), "{answer:?}");
        answer.body["task"].clone()
    }

    pub(crate) async fn progress(&self, task: &Value, more: Value) -> Answer {
        let mut body = json!({"sessionId": task["sessionId"], "taskId": task["taskId"], "processedFrames": 1,
            "maxQueueRatio": 0.1, "droppedFrames": 0, "diagnostics": []});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.call(&format!("POST /api/v1/workers/{}/progress", self.id), body).await
    }

    pub(crate) async fn fail(&self, task: &Value, error: &str) -> Answer {
        let id = task["taskId"].as_str().unwrap();
        let body = json!({"workerId": self.id, "attempt": task["attempt"], "error": error});
        self.call(&format!("POST /api/v1/tasks/{id}/fail"), body).await
    }

    pub(crate) async fn complete(&self, task: &Value) -> Answer {
        self.complete_as(task, completion(&self.id, task)).await
    }

    pub(crate) async fn complete_as(&self, task: &Value, body: Value) -> Answer {
        let id = task["taskId"].as_str().unwrap();
        self.call(&format!("POST /api/v1/tasks/{id}/complete"), body).await
    }
}

/// A completion as an honest worker sends it.
pub(crate) fn completion(worker: &str, task: &Value) -> Value {
    json!({"workerId": worker, "attempt": task["attempt"], "poseFiles": ["pose/0.json"], "metricsSnapshot": {"fps": 30},
        "manifestFragment": fragment(worker, task)})
}

pub(crate) fn fragment(worker: &str, task: &Value) -> Value {
    json!({"workerId": worker, "frameRange": task["frameRange"], "globalIdChunkId": task["globalIdChunk"]["chunkId"],
        "cameras": [], "statistics": {"persons": 3}, "validationSummary": {}, "replay": task["replay"]})
}

/// A request with a bearer token, from 10.0.0.7.
pub(crate) fn request(route: &str, token: &str, body: Value) -> Request<Body> {
    let (method, path) = route.split_once(' ').unwrap();
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost:7400");
    let request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    let request = request.extension(Peer::at("10.0.0.7".parse().unwrap()));
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    request.body(body).unwrap()
}
