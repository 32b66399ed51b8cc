//! Contract Q over HTTP: the real coordinator on a store in memory, the real HTTP layer.
//!
//! A little of contract N is needed to have a PC with devices at all; it is spoken to the coordinator directly, since
//! a dialect never sees its sibling.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use muster_coordinator::{Coordinator, Options};
use muster_http::{HttpSettings, HttpState, Keys, assemble_behind};
use muster_model::{Attachment, DeviceReport, Name, Pull};
use muster_operations::PostgrestWords;
use muster_store::{Cursor, MemoryStore};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tower::ServiceExt;

const ADMIN: &str = "admin-token";
const NODE: &str = "node-secret";

struct World {
    app: Router,
    coordinator: Coordinator,
}

struct Answer {
    status: StatusCode,
    body: Value,
}

impl World {
    fn new() -> Self {
        let coordinator = Coordinator::start(Arc::new(MemoryStore::new()), Options::default()).unwrap();
        let http = HttpState::new(coordinator.clone(), Keys::new(NODE, ADMIN), HttpSettings::default());
        Self { app: assemble_behind(PostgrestWords, http, muster_operations::routes()), coordinator }
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), 10_000_000).await.unwrap();
        Answer { status, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) }
    }

    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        self.send(request(method, path, ADMIN).body(body).unwrap()).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.call("GET", path, None).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        self.call("POST", path, Some(body)).await
    }

    async fn rpc(&self, function: &str, body: Value) -> Answer {
        let request = request("POST", &format!("/rest/v1/rpc/{function}"), NODE).header("apikey", NODE);
        self.send(request.body(Body::from(body.to_string())).unwrap()).await
    }

    /// A PC reports its devices.
    async fn attach(&self, pc: &str, devices: &[&str]) {
        let report = |device: &&str| DeviceReport {
            device: name(device),
            handle: name(device),
            attachment: Attachment::Online,
        };
        let devices = Some(devices.iter().map(report).collect());
        let pull = Pull { worker: name(pc), max: 0, devices };
        self.coordinator.pull(pull, Duration::ZERO).await.unwrap();
    }

    async fn run(&self) -> String {
        let answer = self.post("/api/runs", json!({"workflow_id": "w1", "params": {"k": 1}})).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.body["run_id"].as_str().unwrap().to_owned()
    }
}

fn request(method: &str, path: &str, token: &str) -> axum::http::request::Builder {
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    request
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json")
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// Q15, Q14: a run goes from submission to success by the RPCs alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_succeeds() {
    let world = World::new();
    world.attach("PC-01", &["d1"]).await;
    let run = world.run().await;
    let rows =
        world.rpc("claim_task_devices_for_pc", json!({"runner_pc_name": "PC-01", "max_to_claim": 5})).await;
    assert_eq!(rows.status, 200, "{}", rows.body);
    let row = &rows.body[0];
    assert_eq!(
        (&row["device_id"], &row["status"], &row["attempt"]),
        (&json!("d1"), &json!("running"), &json!(1))
    );
    assert_eq!((&row["config"], &row["task_id"]), (&json!({"k": 1}), &json!(run)));
    assert!(row["lease_expires_at"].as_str().unwrap().ends_with("+00:00"));
    let id = row["id"].clone();
    let renewed = json!({"task_device_id": id, "runner_pc_id": "PC-01", "lease_minutes": 0.5});
    assert_eq!(world.rpc("renew_task_device_lease", renewed).await.body, json!(true));
    let done =
        world.rpc("complete_task_device", json!({"p_task_device_id": id, "p_result": {"ok": 1}})).await;
    assert_eq!((done.status.as_u16(), &done.body["status"]), (200, &json!("completed")), "{}", done.body);
    assert_eq!(done.body["result"], json!({"ok": 1}));
    let shown = world.get(&format!("/api/runs/{run}")).await;
    assert_eq!((&shown.body["status"], &shown.body["counts"]["completed"]), (&json!("success"), &json!(1)));
    assert_eq!(shown.body["per_pc"]["PC-01"]["completed"], 1);
    let rows = world.get(&format!("/api/runs/{run}/task_devices?status=success&pc_id=PC-01")).await;
    assert_eq!(rows.body["task_devices"][0]["result"], json!({"ok": 1}));
    let history = world.get(&format!("/api/task_devices/{}/history", id.as_str().unwrap())).await;
    let kinds: Vec<&str> = history.body["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["event_type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["CREATED", "SENT", "ACKED", "SUCCEEDED"]);
    let again = world.rpc("complete_task_device", json!({"p_task_device_id": id})).await;
    assert_eq!((again.status.as_u16(), &again.body["code"]), (409, &json!("55000")), "{}", again.body);
}

/// Q10, Q11: failures are retried until attempts are used up, then the device leaves service until returned.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_fails_for_good_and_returns() {
    let world = World::new();
    world.attach("PC-01", &["d1"]).await;
    world.run().await;
    for attempt in 1..=3 {
        let rows = world.rpc("claim_task_devices_for_pc", json!({"runner_pc_id": "PC-01"})).await;
        assert_eq!(rows.body[0]["attempt"], attempt, "{}", rows.body);
        let failed =
            json!({"p_task_device_id": rows.body[0]["id"], "p_error": "no screen", "runner_pc_id": "PC-01"});
        let row = world.rpc("fail_or_retry_task_device", failed).await.body;
        assert_eq!(row["status"], if attempt < 3 { "pending" } else { "failed" });
    }
    let device = world.get("/api/devices/d1").await;
    assert_eq!((device.status.as_u16(), &device.body["status"]), (200, &json!("ERROR")));
    assert_eq!(world.get("/api/devices?status=ERROR").await.body["devices"][0]["device_id"], "d1");
    let back = world.post("/api/devices/d1/return", json!({"note": "new cable"})).await;
    assert_eq!((&back.body["status"], &back.body["note"]), (&json!("ONLINE"), &json!("new cable")));
    assert_eq!(world.call("POST", "/api/devices/d1/return", None).await.status, 409);
}

/// Q15: an idempotency key makes a repeat the same run, and another body a conflict.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_is_the_same_run() {
    let world = World::new();
    let send = |body: Value| {
        let request = request("POST", "/api/runs", ADMIN).header("Idempotency-Key", "order-7");
        world.send(request.body(Body::from(body.to_string())).unwrap())
    };
    let first = send(json!({"workflow_id": "w1"})).await;
    let second = send(json!({"workflow_id": "w1"})).await;
    assert_eq!((first.status, second.status), (StatusCode::CREATED, StatusCode::CREATED));
    assert_eq!(first.body, second.body);
    assert_eq!(send(json!({"workflow_id": "w2"})).await.status, 409);
    assert_eq!(world.get("/api/runs").await.body["runs"].as_array().unwrap().len(), 1);
}

/// Q7, Q15: a run is cancelled once.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_cancelled() {
    let world = World::new();
    let run = world.run().await;
    let cancelled = world.call("POST", &format!("/api/runs/{run}/cancel"), None).await;
    assert_eq!((cancelled.status.as_u16(), &cancelled.body["status"]), (200, &json!("cancelled")));
    assert_eq!(world.call("POST", &format!("/api/runs/{run}/cancel"), None).await.status, 409);
    assert_eq!(world.get("/api/runs?status=canceled").await.body["runs"][0]["run_id"], json!(run));
    assert_eq!(world.get("/api/runs?status=retrying").await.body, json!({"runs": []}));
}

/// Q13, Q3, Q15: a PC is shown, capped, drained and resumed.
#[tokio::test(flavor = "multi_thread")]
async fn a_pc_is_steered() {
    let world = World::new();
    world.attach("PC-01", &["d1", "d2"]).await;
    let pcs = world.get("/api/pcs").await.body;
    assert_eq!((&pcs["pcs"][0]["device_count"], &pcs["pcs"][0]["max_devices"]), (&json!(2), &json!(20)));
    assert_eq!(world.get("/api/pcs/PC-01").await.body["own_max_devices"], Value::Null);
    let capped = world.call("PATCH", "/api/pcs/PC-01", Some(json!({"max_devices": 5}))).await;
    assert_eq!(capped.body["max_devices"], 5);
    assert_eq!(world.call("POST", "/api/nodes/PC-01/drain", None).await.body["draining"], true);
    assert_eq!(world.get("/api/explain/node/PC-01").await.body["code"], "node_draining");
    assert_eq!(world.call("POST", "/api/nodes/PC-01/resume", None).await.body["draining"], false);
    let detail = world.get("/api/pcs/PC-01").await.body;
    assert_eq!((&detail["own_max_devices"], &detail["max_devices"]), (&json!(5), &json!(5)));
    assert!(detail["history"].as_array().unwrap().iter().any(|event| event["event_type"] == "enrolled"));
    let labelled = world.call("PATCH", "/api/devices/d1", Some(json!({"labels": {"rack": "7"}}))).await;
    assert_eq!(labelled.body["labels"], json!({"rack": "7"}));
    assert_eq!(world.get("/api/alerts").await.body, json!({"alerts": []}));
}

/// Q15, N3: a node's own secret opens the RPCs for that node only.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_has_a_secret_of_its_own() {
    let world = World::new();
    world.attach("PC-01", &["d1"]).await;
    world.attach("PC-02", &["d2"]).await;
    world.run().await;
    let answer = world.call("POST", "/api/nodes/PC-01/secret", None).await;
    let secret = answer.body["secret"].as_str().unwrap().to_owned();
    let claim = |pc: &str| {
        let request = request("POST", "/rest/v1/rpc/claim_task_devices_for_pc", &secret);
        world.send(request.body(Body::from(json!({"runner_pc_id": pc}).to_string())).unwrap())
    };
    assert_eq!(claim("PC-01").await.status, 200);
    assert_eq!(claim("PC-02").await.status, 403);
    let rows = world.rpc("claim_task_devices_for_pc", json!({"runner_pc_id": "PC-02"})).await.body;
    let foreign = request("POST", "/rest/v1/rpc/complete_task_device", &secret);
    let body = json!({"p_task_device_id": rows[0]["id"]}).to_string();
    assert_eq!(world.send(foreign.body(Body::from(body)).unwrap()).await.status, 403);
}

/// Q14: an unknown PC claims nothing, an unknown row is no lease, and problems carry PostgREST's members.
#[tokio::test(flavor = "multi_thread")]
async fn the_rpcs_answer_as_postgrest_does() {
    let world = World::new();
    assert_eq!(
        world.rpc("claim_task_devices_for_pc", json!({"runner_pc_id": "PC-99"})).await.body,
        json!([])
    );
    let renewal = json!({"task_device_id": "nothing", "runner_pc_id": "PC-99", "lease_minutes": 5});
    assert_eq!(world.rpc("renew_task_device_lease", renewal).await.body, json!(false));
    let missing = world.rpc("complete_task_device", json!({"p_task_device_id": "nothing"})).await;
    assert_eq!((missing.status.as_u16(), &missing.body["code"]), (404, &json!("P0002")));
    let swept = world.rpc("fn_timeout_tasks_and_task_devices", json!({})).await;
    assert_eq!(swept.body, json!({"tasks": 0, "task_devices": 0}));
    let wrong = world.rpc("claim_task_devices_for_pc", json!({"runner_pc_id": 5})).await;
    assert_eq!((wrong.status.as_u16(), &wrong.body["code"]), (422, &json!("22023")));
    assert!(
        wrong.body["message"].is_string() && wrong.body["hint"].is_null() && wrong.body["type"].is_string()
    );
    let request = Request::post("/rest/v1/rpc/complete_task_device").header(header::HOST, "localhost");
    let closed = world.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!((closed.status.as_u16(), &closed.body["code"]), (401, &json!("PGRST301")));
    let unheard_of = world.rpc("no_such_function", json!({})).await;
    assert_eq!((unheard_of.status.as_u16(), &unheard_of.body["code"]), (404, &json!("P0002")));
    let unfit = world.get("/rest/v1/rpc/complete_task_device").await;
    assert_eq!((unfit.status.as_u16(), unfit.body["message"].is_string()), (405, true));
}

/// Q15, Q16: what is unknown or cannot be an id is 404; a wrong parameter is named.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_unknown_is_404() {
    let world = World::new();
    let unknown = "01990000-0000-7000-8000-000000000001";
    for path in [
        format!("/api/runs/{unknown}"),
        format!("/api/runs/{unknown}/task_devices"),
        format!("/api/runs/{unknown}/attempts"),
        format!("/api/runs/{unknown}/artifacts"),
        format!("/api/task_devices/{unknown}.0000001"),
        format!("/api/task_devices/{unknown}.0000001/history"),
        format!("/api/explain/run/{unknown}"),
        "/api/runs/x".to_owned(),
        "/api/runs/%FF".to_owned(),
        "/api/task_devices/%00".to_owned(),
        "/api/devices/nobody".to_owned(),
        "/api/devices/nobody/task_devices".to_owned(),
        "/api/devices/nobody/artifacts".to_owned(),
        "/api/devices/a%2Fb".to_owned(),
        "/api/pcs/nobody".to_owned(),
        "/api/explain/worker/w1".to_owned(),
        "/api/explain/job/j1".to_owned(),
        "/api/explain/thing/1".to_owned(),
        "/api/explain/device/%FF".to_owned(),
    ] {
        let answer = world.get(&path).await;
        assert_eq!((answer.status.as_u16(), &answer.body["status"]), (404, &json!(404)), "{path}");
    }
    for (method, path, body) in [
        ("POST", "/api/runs/x/cancel", json!({})),
        ("POST", "/api/devices/nobody/return", json!({})),
        ("POST", "/api/nodes/nobody/drain", json!({})),
        ("POST", "/api/nodes/nobody/resume", json!({})),
        ("POST", "/api/nodes/nobody/secret", json!({})),
        ("PATCH", "/api/devices/nobody", json!({"labels": {}})),
        ("PATCH", "/api/pcs/nobody", json!({"max_devices": 1})),
    ] {
        assert_eq!(world.call(method, path, Some(body)).await.status, 404, "{method} {path}");
    }
    for path in
        ["/api/runs?limit=0", "/api/runs?status=done", "/api/runs?stauts=failed", "/api/devices?pc_id=a/b"]
    {
        assert_eq!(world.get(path).await.status, 422, "{path}");
    }
    assert_eq!(world.call("DELETE", "/api/runs", None).await.status, 405);
}

/// I7: everything here needs a token, and a node's secret does not open what is for operators.
#[tokio::test(flavor = "multi_thread")]
async fn everything_needs_a_token() {
    let world = World::new();
    for path in ["/api/runs", "/api/devices", "/api/pcs", "/api/alerts", "/api/explain/node/x"] {
        let bare = Request::get(path).header(header::HOST, "localhost").body(Body::empty()).unwrap();
        assert_eq!(world.send(bare).await.status, 401, "{path}");
        assert_eq!(
            world.send(request("GET", path, NODE).body(Body::empty()).unwrap()).await.status,
            403,
            "{path}"
        );
    }
}

/// I7: what an operator does stands in the audit log; what a node does, and what was refused, does not.
#[tokio::test(flavor = "multi_thread")]
async fn an_operators_acts_are_written_down() {
    let world = World::new();
    world.attach("PC-01", &["d1"]).await;
    let run = world.run().await;
    world.rpc("fn_timeout_tasks_and_task_devices", json!({})).await;
    world.post("/api/nodes/PC-01/drain", Value::Null).await;
    world.post("/api/nodes/PC-99/drain", Value::Null).await;
    world.post(&format!("/api/runs/{run}/cancel"), Value::Null).await;
    world.call("PATCH", "/api/devices/d1", Some(json!({"labels": {"a": "b"}}))).await;
    let page = Cursor { after: None, limit: 100 };
    let log = world.coordinator.read(move |store| store.audit(&page)).await.unwrap().items;
    let acts: Vec<_> = log.iter().map(|act| (&*act.actor.name, &*act.action)).collect();
    let expected = ["label_device", "cancel_run", "drain_node", "submit_run"];
    assert_eq!(acts, expected.map(|action| ("admin-token", action)));
    assert_eq!(&*log[3].subject, format!("run {run}, queue default"));
}

/// Q6, Q15: a run for what nobody has is taken, and whoever submits it hears of it, with what was probably meant.
#[tokio::test(flavor = "multi_thread")]
async fn a_typo_in_a_scope_is_told() {
    let world = World::new();
    world.attach("PC-01", &["d1"]).await;
    let submit =
        async |scope: Value| world.post("/api/runs", json!({"workflow_id": "w1", "scope": scope})).await;
    let typo = submit(json!({"pcs": ["PC-O1"]})).await;
    assert_eq!((typo.status.as_u16(), &typo.body["status"]), (201, &json!("running")));
    let [unknown, none] = &typo.body["warnings"].as_array().unwrap()[..] else { panic!("{}", typo.body) };
    let told = (&unknown["code"], &unknown["name"], &unknown["did_you_mean"]);
    assert_eq!(told, (&json!("unknown_pc"), &json!("PC-O1"), &json!("PC-01")));
    assert_eq!((&none["code"], none.get("name")), (&json!("no_device"), None));
    let part = submit(json!({"devices": ["d1", "x9"]})).await.body;
    assert_eq!((part["warnings"].as_array().unwrap().len(), &part["warnings"][0]["name"]), (1, &json!("x9")));
    let label = submit(json!({"labels": {"rack": "a"}})).await.body;
    assert_eq!(label["warnings"][0]["message"], "no device has the label rack=a");
    for right in [json!({"pcs": ["PC-01"]}), json!({"devices": ["d1"]}), Value::Null] {
        let members = submit(right).await.body.as_object().unwrap().len();
        assert_eq!(members, 2, "a run as it should be has its id and its status");
    }
}

/// Q17: a schedule is made, listed, shown and deleted.
#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_comes_and_goes() {
    let world = World::new();
    let run = json!({"workflow_id": "w1", "params": {"k": 1}, "scope": {"pcs": ["PC-01"]}});
    let body = json!({"cron": "0 6 * * MON-FRI", "timezone": "Asia/Seoul", "missed": "once", "run": run});
    let made = world.post("/api/schedules", body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.body["schedule_id"].as_str().unwrap();
    assert!(made.body["next_at"].as_i64().is_some_and(|at| at > world.coordinator.now().0));
    let path = format!("/api/schedules/{id}");
    let shown = world.get(&path).await.body;
    let told = [&shown["cron"], &shown["timezone"], &shown["missed"], &shown["next_at"]];
    assert_eq!(
        told,
        [&json!("0 6 * * MON-FRI"), &json!("Asia/Seoul"), &json!("once"), &made.body["next_at"]]
    );
    assert_eq!((&shown["run"]["params"], &shown["run"]["scope"]), (&run["params"], &run["scope"]));
    assert_eq!([&shown["last_slot"], &shown["last_run_id"]], [&Value::Null; 2]);
    assert_eq!(world.get("/api/schedules").await.body, json!({"schedules": [shown]}));
    assert_eq!(world.call("DELETE", &path, None).await.status, 204);
    for method in ["GET", "DELETE"] {
        assert_eq!(world.call(method, &path, None).await.status, 404);
        assert_eq!(world.call(method, "/api/schedules/nonsense", None).await.status, 404);
    }
    assert_eq!(world.get("/api/schedules").await.body, json!({"schedules": []}));
}

/// Q17: schedules are listed in pages, oldest first.
#[tokio::test(flavor = "multi_thread")]
async fn schedules_are_listed_in_pages() {
    let world = World::new();
    let mut ids = Vec::new();
    for minute in 0..3 {
        let body = json!({"cron": format!("{minute} 6 * * *"), "run": {"workflow_id": "w1"}});
        ids.push(world.post("/api/schedules", body).await.body["schedule_id"].clone());
    }
    ids.sort_by_key(Value::to_string);
    let first = world.get("/api/schedules?limit=2").await.body;
    let next = first["next"].as_str().unwrap();
    let second = world.get(&format!("/api/schedules?limit=2&after={next}")).await.body;
    let pages = [&first["schedules"], &second["schedules"]];
    let listed: Vec<Value> = pages
        .iter()
        .flat_map(|page| page.as_array().unwrap())
        .map(|schedule| schedule["schedule_id"].clone())
        .collect();
    assert_eq!((listed, second.get("next")), (ids, None));
    assert_eq!(world.get("/api/schedules?status=x").await.status, 422);
}

/// Q17: a bad expression or zone is refused with the field and what is expected.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_schedule_is_refused() {
    let world = World::new();
    for (body, field, word) in [
        (json!({"cron": "61 * * * *", "run": {"workflow_id": "w1"}}), "cron", "from 0 to 59"),
        (json!({"cron": "0 0 30 2 *", "run": {"workflow_id": "w1"}}), "cron", "ever come"),
        (json!({"cron": "* * * * *", "timezone": "CEST", "run": {"workflow_id": "w1"}}), "timezone", "IANA"),
        (json!({"cron": "* * * * *", "missed": "all", "run": {"workflow_id": "w1"}}), "missed", "once"),
        (json!({"cron": "* * * * *", "run": {"workflow_id": 7}}), "run.workflow_id", "string"),
    ] {
        let answer = world.post("/api/schedules", body).await;
        assert_eq!((answer.status.as_u16(), &answer.body["field"]), (422, &json!(field)), "{}", answer.body);
        assert!(answer.body["detail"].as_str().unwrap().contains(word), "{}", answer.body);
    }
}

/// Q17: a repeat of the request makes no second schedule; another body under the same key is refused.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_is_the_same_schedule() {
    let world = World::new();
    let send = |cron: &str| {
        let request = request("POST", "/api/schedules", ADMIN).header("Idempotency-Key", "nightly");
        let body = json!({"cron": cron, "run": {"workflow_id": "w1"}});
        world.send(request.body(Body::from(body.to_string())).unwrap())
    };
    let (first, second) = (send("0 3 * * *").await, send("0 3 * * *").await);
    assert_eq!((first.status.as_u16(), second.status.as_u16()), (201, 201));
    assert_eq!(first.body, second.body);
    assert_eq!(send("0 4 * * *").await.status, 409);
    assert_eq!(world.get("/api/schedules").await.body["schedules"].as_array().unwrap().len(), 1);
}
