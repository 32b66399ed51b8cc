//! Contract N over HTTP: the real coordinator on a store in memory, the real HTTP layer.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use muster_coordinator::{Coordinator, Options};
use muster_http::{HttpSettings, HttpState, Keys, assemble};
use muster_model::{Digest, JobPayload, Millis, Name, Scope, Submission, ask::devices::RotateSecret};
use muster_store::MemoryStore;
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;

const ADMIN: &str = "admin-token";
const NODE: &str = "node-secret";

struct World {
    app: Router,
    coordinator: Coordinator,
}

impl World {
    fn new() -> Self {
        let coordinator = Coordinator::start(Arc::new(MemoryStore::new()), Options::default()).unwrap();
        let http = HttpState::new(coordinator.clone(), Keys::new(NODE, ADMIN), HttpSettings::default());
        Self { app: assemble(http, muster_nodes::routes()), coordinator }
    }

    async fn send(&self, route: &str, token: &str, body: String) -> (StatusCode, Value) {
        let (method, path) = route.split_once(' ').unwrap();
        let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {token}")).body(Body::from(body));
        let response = self.app.clone().oneshot(request.unwrap()).await.unwrap();
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), 10_000_000).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    async fn pull(&self, body: Value) -> Value {
        let (status, answer) = self.send("POST /api/nodes/pull", NODE, body.to_string()).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    async fn callback(&self, body: &Value) -> (u16, Value) {
        let (status, answer) = self.send("POST /api/nodes/callback", NODE, body.to_string()).await;
        (status.as_u16(), answer)
    }

    async fn submit(&self) -> String {
        let payload = JobPayload {
            title: None,
            workflow: "w1".into(),
            params: r#"{"z":1.10}"#.into(),
            timeout: Some(Millis(180_000)),
            schedule: None,
        };
        let queue = Name::new("default").unwrap();
        let submission = Submission {
            key: None,
            digest: Digest(1),
            queue,
            scope: Scope::All,
            max_attempts: None,
            payload,
        };
        self.coordinator.ask(submission).await.unwrap().job.to_string()
    }
}

fn devices(ids: &[&str]) -> Value {
    ids.iter().map(|id| json!({"device_id": id, "runtime_handle": id, "status": "online"})).collect()
}

fn event(job: &Value, kind: &str, id: &str, more: Value) -> Value {
    let mut event = json!({"event_id": id, "type": kind, "node_id": "PC-01", "run_id": job["run_id"],
        "task_id": job["task_id"], "device_id": job["device_id"], "runtime_handle": job["runtime_handle"],
        "timestamp": 1_760_000_000_000_i64});
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    event
}

fn finished(job: &Value, id: &str, now: &Value) -> Value {
    let timings = json!({"startedAt": now, "endedAt": now});
    let lease = json!({"attempt": job["attempt"], "lease_token": job["lease"]["token"]});
    let mut event =
        event(job, "task_finished", id, json!({"status": "succeeded", "timings": timings, "timestamp": now}));
    event.as_object_mut().unwrap().extend(lease.as_object().unwrap().clone());
    event
}

/// N1, N4, N12: a job is pulled, run and reported; the run is then finished for the node.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_pulled_and_reported() {
    let world = World::new();
    let run = world.submit().await;
    let answer = world.pull(json!({"node_id": "PC-01", "max_jobs": 5, "devices": devices(&["d1"])})).await;
    let job = &answer["jobs"][0];
    assert_eq!((&job["run_id"], &job["device_id"], &job["attempt"]), (&json!(run), &json!("d1"), &json!(1)));
    assert_eq!((&job["timeoutMs"], &job["params"]), (&json!(180_000), &json!({"z": 1.1})));
    assert_eq!(
        (&answer["runs"][0]["run_id"], &answer["runs"][0]["target_devices_count"]),
        (&json!(run), &json!(1))
    );
    assert_eq!(job["lease"]["token"].as_str().unwrap().len(), 32);
    let started = event(
        job,
        "task_started",
        "e1",
        json!({"workflow_id": "w1", "timeoutMs": 180_000, "timestamp": answer["now"]}),
    );
    assert_eq!(world.callback(&started).await, (200, json!({"ok": true})));
    assert_eq!(world.callback(&started).await, (200, json!({"ok": true, "duplicate": true})));
    let done = finished(job, "e2", &answer["now"]);
    assert_eq!(world.callback(&done).await, (200, json!({"ok": true})));
    let after = world.pull(json!({"node_id": "PC-01", "max_jobs": 5})).await;
    assert_eq!((&after["finished_runs"], &after["jobs"]), (&json!([run]), &json!([])));
}

/// N5, N6: the same id with another body is 409; unknown things are 404; another node's task is 409.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_come_in_the_contracts_order() {
    let world = World::new();
    world.submit().await;
    let answer = world.pull(json!({"node_id": "PC-01", "max_jobs": 5, "devices": devices(&["d1"])})).await;
    let job = &answer["jobs"][0];
    let started = event(
        job,
        "task_started",
        "e1",
        json!({"workflow_id": "w1", "timeoutMs": 1, "timestamp": answer["now"]}),
    );
    assert_eq!(world.callback(&started).await.0, 200);
    let mut resent = started.clone();
    (resent["timeoutMs"], resent["timestamp"]) = (json!(2), json!(1_760_000_000_000_i64));
    assert_eq!(world.callback(&resent).await, (200, json!({"ok": true, "duplicate": true})), "N5");
    let mut other = started.clone();
    (other["type"], other["step"], other["status"]) =
        (json!("task_progress"), json!("LOGIN_FLOW"), json!("running"));
    assert_eq!(world.callback(&other).await.0, 409);
    let page = muster_store::Cursor { after: None, limit: 9 };
    let alerts = world.coordinator.read(move |store| store.alerts(&page)).await.unwrap().items;
    let kinds: Vec<_> = alerts.iter().map(|alert| alert.kind).collect();
    assert_eq!(kinds, [muster_model::AlertKind::EventConflict], "N5");
    let mut unknown = started.clone();
    (unknown["event_id"], unknown["run_id"], unknown["task_id"]) =
        (json!("e2"), json!("uuid"), json!("string"));
    assert_eq!(world.callback(&unknown).await.0, 404);
    let mut foreign = started.clone();
    (foreign["event_id"], foreign["node_id"]) = (json!("e3"), json!("PC-02"));
    assert_eq!(world.callback(&foreign).await.0, 409);
    foreign["timeoutMs"] = json!("1");
    assert_eq!(world.callback(&foreign).await.0, 422);
    let (route, long) = ("POST /api/nodes/callback", " ".repeat(1_048_577));
    assert_eq!(world.send(route, NODE, "{".to_owned()).await.0, 400);
    assert_eq!(world.send(route, NODE, long.clone()).await.0, 413);
    assert_eq!(world.send(route, "wrong", long).await.0, 401);
}

/// N5, N8: a heartbeat is remembered in memory and shown to operators.
#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_is_heard() {
    let world = World::new();
    let mut beat = json!({"event_id": "hb-1", "type": "node_heartbeat", "payload": {"node_id": "PC-01",
        "timestamp": 1_760_000_000_000_i64, "connected_devices_count": 100, "running_devices_count": 20,
        "queue_devices_count": 80, "vendor_ws_ok": true}});
    assert_eq!(world.callback(&beat).await, (200, json!({"ok": true})));
    assert_eq!(world.callback(&beat).await, (200, json!({"ok": true, "duplicate": true})));
    beat["payload"]["queue_devices_count"] = json!(79);
    assert_eq!(world.callback(&beat).await, (200, json!({"ok": true, "duplicate": true})));
    let (status, nodes) = world.send("GET /api/nodes", ADMIN, String::new()).await;
    assert_eq!((status.as_u16(), &nodes["nodes"][0]["queue_devices_count"]), (200, &json!(79)));
    assert!(world.coordinator.last_seen(&Name::new("PC-01").unwrap()).is_some());
}

/// N8c: a node that never sent a heartbeat is listed as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_a_heartbeat_is_listed() {
    let world = World::new();
    world.pull(json!({"node_id": "PC-07", "max_jobs": 0})).await;
    let (_, nodes) = world.send("GET /api/nodes", ADMIN, String::new()).await;
    let expected = json!([{"node_id": "PC-07", "status": "online", "heartbeat": "ok", "heartbeat_late_since": null,
        "timestamp": null, "heard_at": null, "connected_devices_count": null, "running_devices_count": null,
        "queue_devices_count": null, "vendor_ws_ok": null, "degraded": null}]);
    assert_eq!(nodes["nodes"], expected);
}

/// N1: `GET` gives one job; a long poll ends when work appears.
#[tokio::test(flavor = "multi_thread")]
async fn a_pull_waits_for_work() {
    let world = World::new();
    world.pull(json!({"node_id": "PC-01", "max_jobs": 0, "devices": devices(&["d1", "d2"])})).await;
    let route = "GET /api/nodes/pull?node_id=PC-01&wait_ms=20000";
    let (answer, _) = tokio::join!(world.send(route, NODE, String::new()), world.submit());
    assert_eq!(answer.1["jobs"].as_array().unwrap().len(), 1, "{}", answer.1);
    assert_eq!(world.send("GET /api/nodes/pull", NODE, String::new()).await.0, 422);
    assert_eq!(world.send("GET /api/nodes/pull?node_id=a/b", NODE, String::new()).await.0, 422);
}

/// N3: a node's own secret grants access for that node only.
#[tokio::test(flavor = "multi_thread")]
async fn an_own_secret_speaks_for_its_node() {
    use sha2::{Digest as _, Sha256};
    let world = World::new();
    world.pull(json!({"node_id": "PC-01", "max_jobs": 0})).await;
    let hash = Sha256::digest(b"own").into();
    let worker = Name::new("PC-01").unwrap();
    world.coordinator.ask(RotateSecret { worker, hash }).await.unwrap();
    let status = async |node: &str| {
        let body = json!({"node_id": node, "max_jobs": 0}).to_string();
        world.send("POST /api/nodes/pull", "own", body).await.0.as_u16()
    };
    assert_eq!((status("PC-01").await, status("PC-02").await), (200, 401));
    assert_eq!(world.send("GET /api/nodes/pull?node_id=PC-02", "own", String::new()).await.0, 401);
}

/// N1: HEAD takes no job: its answer would be thrown away, and the job in it.
#[tokio::test]
async fn a_head_request_takes_no_job() {
    let world = World::new();
    world.submit().await;
    let devices = json!([{"device_id": "d1", "status": "online"}]);
    world.pull(json!({"node_id": "PC-01", "max_jobs": 0, "devices": devices})).await;
    let (status, _) = world.send("HEAD /api/nodes/pull?node_id=PC-01", NODE, String::new()).await;
    assert_eq!(status, 405);
    let answer = world.pull(json!({"node_id": "PC-01", "max_jobs": 1})).await;
    assert_eq!(answer["jobs"].as_array().unwrap().len(), 1);
}

impl World {
    async fn callbacks(&self, token: &str, events: &[Value]) -> (u16, Value) {
        let body = json!({"events": events}).to_string();
        let (status, answer) = self.send("POST /api/nodes/callbacks", token, body).await;
        (status.as_u16(), answer)
    }
}

fn heartbeat(id: &str, node: &str, queued: u64) -> Value {
    json!({"event_id": id, "type": "node_heartbeat", "payload": {"node_id": node,
        "timestamp": 1_760_000_000_000_i64, "connected_devices_count": 100, "running_devices_count": 20,
        "queue_devices_count": queued, "vendor_ws_ok": true}})
}

/// N1, N25: a node whose pull offers it sends several events at once. Each is judged as if it had come alone, in order; a
/// refused one does not stop the others, and a repeat within the request changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn several_callbacks_are_judged_one_by_one() {
    let world = World::new();
    world.submit().await;
    let answer =
        world.pull(json!({"node_id": "PC-01", "max_jobs": 5, "devices": devices(&["d1", "d2"])})).await;
    assert_eq!(answer["features"], json!(["callbacks"]));
    let (one, two) = (&answer["jobs"][0], &answer["jobs"][1]);
    let more = json!({"workflow_id": "w1", "timeoutMs": 1, "timestamp": answer["now"]});
    let started = event(one, "task_started", "e1", more.clone());
    let mut unknown = event(two, "task_started", "e2", more.clone());
    unknown["run_id"] = json!("nobody");
    let mut nameless = event(two, "task_started", "e3", more.clone());
    nameless["event_id"].take();
    let mut reused = event(two, "task_started", "e1", more);
    reused["event_id"] = json!("e1");
    let events = [
        started.clone(),
        unknown,
        finished(one, "e4", &answer["now"]),
        finished(one, "e4", &answer["now"]),
        json!(7),
        nameless,
        reused,
        heartbeat("hb", "PC-01", 5),
        heartbeat("hb", "PC-01", 4),
        finished(two, "e5", &answer["now"]),
    ];
    let (status, answer) = world.callbacks(NODE, &events).await;
    let problem = |slug: &str| format!("urn:muster:problem:{slug}");
    let expected = json!({"results": [
        {"event_id": "e1", "ok": true},
        {"event_id": "e2", "ok": false, "status": 404, "type": problem("not-found"), "detail": "run_id names no run"},
        {"event_id": "e4", "ok": true},
        {"event_id": "e4", "ok": true, "duplicate": true},
        {"event_id": null, "ok": false, "status": 422, "type": problem("unprocessable"),
            "detail": "the body must be an object"},
        {"event_id": null, "ok": false, "status": 422, "type": problem("unprocessable"),
            "detail": "event_id is missing"},
        {"event_id": "e1", "ok": false, "status": 409, "type": problem("conflict"),
            "detail": "event_id was used before, for another event"},
        {"event_id": "hb", "ok": true},
        {"event_id": "hb", "ok": true, "duplicate": true},
        {"event_id": "e5", "ok": true},
    ]});
    assert_eq!((status, answer), (200, expected));
    assert_eq!(world.callback(&started).await, (200, json!({"ok": true, "duplicate": true})));
    assert_eq!(world.callbacks(NODE, &events[..1]).await.1["results"][0]["duplicate"], json!(true));
    let (_, nodes) = world.send("GET /api/nodes", ADMIN, String::new()).await;
    assert_eq!(nodes["nodes"][0]["queue_devices_count"], json!(4));
    let rest = world.pull(json!({"node_id": "PC-01", "max_jobs": 5})).await;
    assert_eq!((&rest["jobs"], rest["finished_runs"].as_array().unwrap().len()), (&json!([]), 1));
}

/// N3, N25: a node's own secret speaks for its own events; those of another node are refused one by one, with 401.
#[tokio::test(flavor = "multi_thread")]
async fn an_own_secret_speaks_for_its_own_events() {
    use sha2::{Digest as _, Sha256};
    let world = World::new();
    world.pull(json!({"node_id": "PC-01", "max_jobs": 0})).await;
    let (worker, hash) = (Name::new("PC-01").unwrap(), Sha256::digest(b"own").into());
    world.coordinator.ask(RotateSecret { worker, hash }).await.unwrap();
    let events = [heartbeat("a", "PC-01", 1), heartbeat("b", "PC-02", 1), heartbeat("c", "PC-01", 2)];
    let (status, answer) = world.callbacks("own", &events).await;
    let statuses: Vec<&Value> =
        answer["results"].as_array().unwrap().iter().map(|it| &it["status"]).collect();
    assert_eq!((status, statuses), (200, vec![&Value::Null, &json!(401), &Value::Null]), "{answer}");
    assert!(world.coordinator.last_seen(&Name::new("PC-02").unwrap()).is_none());
    let (_, nodes) = world.send("GET /api/nodes", ADMIN, String::new()).await;
    assert_eq!(nodes["nodes"].as_array().unwrap().len(), 1, "N3: nothing is recorded");
}

/// N6, N25: what is wrong with the request as a whole is refused as a whole, in the contract's order.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_callbacks_is_refused_as_a_whole() {
    let world = World::new();
    for count in [0, 501] {
        let (status, problem) = world.callbacks(NODE, &vec![heartbeat("hb", "PC-01", 1); count]).await;
        assert_eq!((status, &problem["field"]), (422, &json!("events")), "{count}");
    }
    let (status, answer) = world.callbacks(NODE, &vec![heartbeat("hb", "PC-01", 1); 500]).await;
    assert_eq!((status, answer["results"].as_array().unwrap().len()), (200, 500));
    let (route, long) = ("POST /api/nodes/callbacks", " ".repeat(1_048_577));
    assert_eq!(world.send(route, NODE, "{".to_owned()).await.0, 400);
    assert_eq!(world.send(route, NODE, "{}".to_owned()).await.0, 422);
    assert_eq!(world.send(route, NODE, long.clone()).await.0, 413);
    assert_eq!(world.send(route, "wrong", long).await.0, 401);
    assert_eq!(world.send(route, ADMIN, "{}".to_owned()).await.0, 403);
}
