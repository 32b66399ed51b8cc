//! A server to talk to, its users, and workers that sign.

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, Request, Response, header},
};
use muster_coordinator::{Coordinator, ManualClock, Options};
use muster_http::{HttpSettings, HttpState, Keys, assemble};
use muster_model::{
    Millis, Name, PoolJobId, Role, Timestamp,
    ask::{
        accounts::{AddUser, Login},
        devices::Heartbeat,
    },
};
use muster_proof::{KeyPair, MerkleTree, batch_bytes, leaf_hash, signed_bytes};
use muster_store::MemoryStore;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;

pub(crate) const ADMIN: &str = "admin-token";
pub(crate) const NODE: &str = "node-secret";
pub(crate) const ENROL: &str = "enrol-secret";

/// One life of a server.
pub(crate) struct World {
    pub(crate) app: Router,
    pub(crate) coordinator: Coordinator,
    clock: Arc<ManualClock>,
    pub(crate) store: Arc<MemoryStore>,
    http: HttpState,
}

/// Response of the server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) body: Value,
}

/// User with a token.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) token: String,
}

/// A worker that signs.
pub(crate) struct Worker<'w> {
    world: &'w World,
    pub(crate) owner: User,
    pub(crate) id: u64,
    pub(crate) pair: KeyPair,
}

impl World {
    pub(crate) async fn new() -> Self {
        // 2026-02-08T12:30:45.123Z
        let clock = Arc::new(ManualClock::at(Timestamp(1_770_553_845_123)));
        Self::live(Arc::new(MemoryStore::new()), clock).await
    }

    /// Another life on the same store.
    pub(crate) async fn reborn(self) -> Self {
        self.coordinator.stop().await;
        Self::live(Arc::clone(&self.store), Arc::clone(&self.clock)).await
    }

    async fn live(store: Arc<MemoryStore>, clock: Arc<ManualClock>) -> Self {
        let by = Arc::<ManualClock>::clone(&clock);
        let coordinator =
            Coordinator::start_with_clock(Arc::clone(&store) as _, Options::default(), by).unwrap();
        coordinator.explain_pool(PoolJobId(1)).await.unwrap();
        let keys = Keys::new(NODE, ADMIN).enrolling(ENROL).signing(&"s".repeat(32));
        let http = HttpState::new(coordinator.clone(), keys, HttpSettings::default());
        let app = assemble(http.clone(), muster_pool::routes(&http));
        Self { app, coordinator, clock, store, http }
    }

    /// A user who is logged in for a day.
    pub(crate) async fn user(&self, name: &str, roles: &[Role]) -> User {
        let roles = roles.iter().copied().collect();
        let add = AddUser { name: name.into(), password_hash: "x".into(), roles };
        let user = self.coordinator.ask(add).await.unwrap();
        let (password_hash, ttl) = ("x".into(), Millis::from_secs(86_400));
        let login = self.coordinator.ask(Login { user: user.id, password_hash, ttl }).await.unwrap();
        User { id: user.id.0, token: self.http.token_of(&login) }
    }

    pub(crate) async fn owner(&self, name: &str) -> User {
        self.user(name, &[Role::WorkerOwner]).await
    }

    pub(crate) async fn client(&self, name: &str) -> User {
        self.user(name, &[Role::Client]).await
    }

    /// Waits until the term that follows a failed one has begun.
    pub(crate) async fn next_term(&self) {
        while self.coordinator.explain_pool(PoolJobId(1)).await.is_err() || !self.coordinator.is_ready() {
            tokio::task::yield_now().await;
        }
    }

    /// A worker with a key of its own.
    pub(crate) async fn worker(&self, owner: &User, name: &str) -> Worker<'_> {
        self.worker_as(owner, json!({"name": name})).await
    }

    pub(crate) async fn worker_as(&self, owner: &User, mut body: Value) -> Worker<'_> {
        let name = body["name"].as_str().unwrap();
        let mut seed = [7; 32];
        seed.iter_mut().zip(name.bytes()).for_each(|(place, letter)| *place = letter);
        let pair = KeyPair::from_seed(&seed);
        if body.get("public_key").is_none() {
            body["public_key"] = pair.public_text().into();
        }
        let answer = self.call("POST /workers/register", &owner.token, body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        Worker { world: self, owner: owner.clone(), id: answer.body["id"].as_u64().unwrap(), pair }
    }

    /// Hands in a job and gives its id.
    pub(crate) async fn job(&self, client: &User, body: Value) -> u64 {
        let answer = self.call("POST /jobs", &client.token, body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body["id"].as_u64().unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response: Response<Body> = self.app.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes: Bytes = axum::body::to_bytes(response.into_body(), 100_000_000).await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer { status, headers, text: String::from_utf8_lossy(&bytes).into_owned(), body }
    }

    /// Calls with a bearer token; `POST /path` or the like.
    pub(crate) async fn call(&self, route: &str, token: &str, body: Value) -> Answer {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        self.call_with(route, token, &text).await
    }

    /// As [`Self::call`], with the body letter by letter.
    pub(crate) async fn call_with(&self, route: &str, token: &str, body: &str) -> Answer {
        self.send(request(route, token).body(Body::from(body.to_owned())).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str, user: &User) -> Answer {
        self.call(&format!("GET {path}"), &user.token, Value::Null).await
    }

    /// Lets time pass; whoever says nothing meanwhile has said nothing.
    pub(crate) async fn pass(&self, seconds: i64) {
        self.clock.advance(Millis::from_secs(seconds));
        self.coordinator.explain_pool(PoolJobId(1)).await.unwrap();
        // An answer leaves when all that was decided before it is durable, and only then do others see it.
        let nobody = Heartbeat { worker: Name::new("nobody").unwrap() };
        let _ = self.coordinator.ask(nobody).await;
    }
}

impl Worker<'_> {
    pub(crate) async fn call(&self, route: &str, body: Value) -> Answer {
        self.world.call(route, &self.owner.token, body).await
    }

    pub(crate) async fn beat(&self) -> Answer {
        self.call("POST /workers/heartbeat", json!({"worker_id": self.id})).await
    }

    pub(crate) async fn poll(&self) -> Answer {
        self.call("POST /jobs/poll", json!({"worker_id": self.id})).await
    }

    /// Polls an assignment that must be there.
    pub(crate) async fn assignment(&self) -> Value {
        let answer = self.poll().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    /// A result for an assignment, signed as it must be.
    pub(crate) fn result(&self, assignment: &Value, more: Value) -> Value {
        let mut body = json!({"worker_id": self.id, "assignment_id": assignment["assignment_id"],
            "nonce": assignment["nonce"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let id = body["assignment_id"].as_u64().unwrap();
        let signed = signed_bytes(id, body["nonce"].as_str().unwrap(), body["output_hash"].as_str());
        body["signature"] = self.pair.sign(&signed).to_text().into();
        body
    }

    /// A call that submits results without signatures of their own, with one signature over all of them (P20).
    pub(crate) fn batch(&self, mut results: Vec<Value>) -> Value {
        let leaf = |result: &Value| {
            let (id, nonce) = (result["assignment_id"].as_u64().unwrap(), result["nonce"].as_str().unwrap());
            leaf_hash(&signed_bytes(id, nonce, result["output_hash"].as_str()))
        };
        let root = MerkleTree::new(results.iter().map(leaf)).root();
        let signature = self.pair.sign(&batch_bytes(results.len() as u64, &root, self.id)).to_text();
        results.iter_mut().for_each(|result| drop(result.as_object_mut().unwrap().remove("signature")));
        json!({"worker_id": self.id, "submit": results, "batch_signature": signature, "max": 0})
    }

    pub(crate) async fn submit(&self, assignment: &Value, more: Value) -> Answer {
        self.call("POST /jobs/submit", self.result(assignment, more)).await
    }
}

impl Answer {
    /// Its status and, of a refusal, its detail.
    pub(crate) fn told(&self) -> (u16, &str) {
        (self.status, self.body["detail"].as_str().unwrap_or_default())
    }
}

/// A request with a bearer token.
pub(crate) fn request(route: &str, token: &str) -> axum::http::request::Builder {
    let (method, path) = route.split_once(' ').unwrap();
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost:7400");
    request.header(header::AUTHORIZATION, format!("Bearer {token}"))
}
