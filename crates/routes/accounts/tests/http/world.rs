//! A server with accounts, and people who call it.

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode, header},
    routing::{get, post},
};
use muster_accounts::AccountSettings;
use muster_coordinator::{Coordinator, ManualClock, Options};
use muster_http::{Client, HttpSettings, HttpState, Keys, Operator, Owner, assemble};
use muster_model::{Millis, Timestamp};
use muster_store::MemoryStore;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;
use utoipa_axum::router::OpenApiRouter;

pub(crate) const ADMIN: &str = "admin-secret";
pub(crate) const NODE: &str = "node-secret";
pub(crate) const ENROLMENT: &str = "enrol-secret";
pub(crate) const PASSWORD: &str = "correct horse";

pub(crate) struct World {
    pub(crate) app: Router,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) http: HttpState,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    /// The status and what it says.
    pub(crate) fn told(&self) -> (u16, &str) {
        (self.status.as_u16(), self.body["detail"].as_str().unwrap_or_default())
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp(1_770_000_000_000)));
        let store = Arc::new(MemoryStore::new());
        let coordinator = Coordinator::start_with_clock(store, Options::default(), clock.clone()).unwrap();
        let keys = Keys::new(NODE, ADMIN).enrolling(ENROLMENT).signing("0123456789abcdef0123456789abcdef");
        let http = HttpState::new(coordinator, keys, HttpSettings::default());
        let routes = muster_accounts::routes(&http, AccountSettings::default()).merge(others());
        Self { app: assemble(http.clone(), routes), clock, http }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = axum::body::to_bytes(response.into_body(), 10_000_000).await.unwrap();
        Answer { status, headers, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) }
    }

    pub(crate) async fn call(&self, [method, path]: [&str; 2], token: &str, body: Value) -> Answer {
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        self.send(request(method, path, token).body(body).unwrap()).await
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Answer {
        self.call(["GET", path], token, Value::Null).await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: Value) -> Answer {
        self.call(["POST", path], token, body).await
    }

    /// Adds a user; their password is [`PASSWORD`].
    pub(crate) async fn add(&self, name: &str, roles: &[&str]) -> Answer {
        let user = json!({"username": name, "password": PASSWORD, "roles": roles});
        let answer = self.post("/users", ADMIN, user).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer
    }

    pub(crate) async fn login(&self, name: &str, password: &str) -> Answer {
        self.post("/auth/login", "", json!({"username": name, "password": password})).await
    }

    /// Logs in and gives the token.
    pub(crate) async fn token(&self, name: &str) -> String {
        let answer = self.login(name, PASSWORD).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["access_token"].as_str().unwrap().to_owned()
    }

    /// Adds a user and logs them in.
    pub(crate) async fn member(&self, name: &str, roles: &[&str]) -> String {
        self.add(name, roles).await;
        self.token(name).await
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.advance(Millis::from_secs(seconds));
    }

    /// Number of comparisons of a password with a hash.
    pub(crate) fn checks(&self) -> u64 {
        let text = self.http.metrics.text();
        let line = text.lines().find(|line| line.starts_with("muster_password_checks_total")).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }
}

/// Doors of other dialects, one of each kind.
fn others() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .route("/look", get(|_: Operator| async { "{}" }))
        .route("/operate", post(|_: Operator| async { "{}" }))
        .route("/client", get(|_: Client| async { "{}" }))
        .route("/owner", get(|_: Owner| async { "{}" }))
}

pub(crate) fn request(method: &str, path: &str, token: &str) -> axum::http::request::Builder {
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    let request = request.header(header::CONTENT_TYPE, "application/json");
    if token.is_empty() { request } else { request.header(header::AUTHORIZATION, format!("Bearer {token}")) }
}
