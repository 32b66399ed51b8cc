//! The routes of operators: Q15.

use crate::{run, run_in};
use muster_tests::{Event, FakeNode, Request, Server};
use serde_json::{Value, json};

/// Q15: a run needs a workflow only; it is answered with its id and where it stands.
#[test]
fn a_run_is_submitted() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let answer = server.admin().post("/api/runs", &json!({"workflow_id": "never heard of"}));
    let run = answer.expect(201);
    assert_eq!(run.as_object().unwrap().len(), 2);
    assert_eq!(run["status"], "running");
    assert_eq!(server.admin().post("/api/runs", &run_in("default", 1)).expect(201)["status"], "pending");
    let full = json!({"workflow_id": "w", "params": {"a": {"b": [1, 2.5, null]}}, "scope": {"pcs": ["PC-01"]},
        "queue": "night", "timeoutMs": 1_200_000, "max_attempts": 7, "title": "Nächtlich"});
    let id = server.submit(&full);
    let shown = server.run(&id);
    assert_eq!(
        (&shown["title"], &shown["queue"], &shown["max_attempts"]),
        (&full["title"], &full["queue"], &json!(7))
    );
    for key in ["run_id", "status", "counts", "per_pc", "rate_per_min", "eta_ms"] {
        assert!(shown.get(key).is_some(), "{key}");
    }
    for (field, value) in [
        ("workflow_id", Value::Null),
        ("params", json!([])),
        ("scope", json!({})),
        ("scope", json!({"pcs": ["PC-01"], "devices": ["d"]})),
        ("timeoutMs", json!(1_200_001)),
        ("timeoutMs", json!(0)),
        ("max_attempts", json!(0)),
        ("queue", json!("")),
        ("title", json!(7)),
        ("colour", json!("red")),
    ] {
        let mut bad = full.clone();
        bad[field] = value;
        let problem = server.admin().post("/api/runs", &bad).problem(422);
        assert_eq!(problem["field"], field, "{problem}");
    }
}

/// Q15: `timeoutMs` may not exceed the setting it is bounded by.
#[test]
fn the_longest_timeout_follows_the_setting() {
    let server = Server::with(&[("MUSTER_OPERATIONS__ATTEMPT_TIMEOUT_S", "5")]);
    let submit = |ms: u64| server.admin().post("/api/runs", &json!({"workflow_id": "w", "timeoutMs": ms}));
    assert_eq!(submit(5000).status, 201);
    assert_eq!(submit(5001).problem(422)["field"], "timeoutMs");
}

/// Q15: under an Idempotency-Key a repeat answers as the first did, also after a kill; another body is 409.
#[test]
fn a_repeat_under_a_key_makes_no_second_run() {
    let mut server = Server::start();
    let submit = |server: &Server, key: &str, body: &Value| {
        server.admin().send(Request::new("POST", "/api/runs").header("Idempotency-Key", key).json(body))
    };
    let first = submit(&server, "order 7", &run()).expect(201);
    let _ = server.submit(&run());
    assert_eq!(submit(&server, "order 7", &run()).expect(201), first);
    server.kill9();
    server.restart();
    assert_eq!(submit(&server, "order 7", &run()).expect(201), first);
    let _ = submit(&server, "order 7", &run_in("other", 1)).problem(409);
    assert_ne!(submit(&server, "order 8", &run()).expect(201)["run_id"], first["run_id"]);
    assert_eq!(server.database().count("SELECT count(*) FROM tasks"), 3);
    for bad in ["", &"x".repeat(129)] {
        assert_eq!(submit(&server, bad, &run()).problem(422)["field"], "Idempotency-Key");
    }
}

/// Q15: a run shows its counts, by PC too.
#[test]
fn a_run_shows_how_far_it_is() {
    let server = Server::start();
    let one = FakeNode::enrolled(server.node(), "PC-01", 2);
    let two = FakeNode::enrolled(server.node(), "PC-02", 1);
    let run = server.submit(&run());
    let jobs = one.jobs(2);
    one.succeed(&jobs[0]);
    two.fail(&two.job());
    let shown = server.run(&run);
    assert_eq!(
        shown["counts"],
        json!({"pending": 1, "running": 1, "completed": 1, "failed": 0, "cancelled": 0})
    );
    assert_eq!(shown["per_pc"]["PC-01"]["completed"], 1);
    assert_eq!(shown["per_pc"]["PC-02"]["pending"], 1);
    assert!(shown["rate_per_min"].as_f64().unwrap() > 0.0);
    let of_two = server.admin().get(&format!("/api/runs/{run}/task_devices?pc_id=PC-02")).expect(200);
    assert_eq!(of_two["task_devices"].as_array().unwrap().len(), 1);
}

/// Q15: a list says of each run what the run itself says, while it goes on and when it is over.
#[test]
fn a_list_of_runs_shows_how_far_each_is() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let first = server.submit(&run());
    let behind =
        server.submit(&json!({"workflow_id": "w", "params": {}, "scope": {"labels": {"rack": "7"}}}));
    let jobs = node.jobs(2);
    node.succeed(&jobs[0]);
    let listed = || {
        let runs = server.admin().get("/api/runs").expect(200)["runs"].take();
        for shown in runs.as_array().unwrap() {
            let alone = server.run(shown["run_id"].as_str().unwrap());
            assert_eq!((&shown["counts"], &shown["total"]), (&alone["counts"], &alone["total"]));
        }
        runs
    };
    let runs = listed();
    assert_eq!((&runs[0]["run_id"], &runs[0]["total"]), (&json!(behind), &Value::Null));
    assert_eq!((&runs[1]["run_id"], &runs[1]["total"]), (&json!(first), &json!(3)));
    let counts = |completed: u64, running: u64| json!({"pending": 0, "running": running, "completed": completed, "failed": 0, "cancelled": 0});
    assert_eq!(runs[1]["counts"], counts(1, 1));
    node.succeed(&jobs[1]);
    node.succeed(&node.job());
    for _ in 0..2 {
        let runs = listed();
        assert_eq!((&runs[1]["status"], &runs[1]["total"]), (&json!("success"), &json!(3)));
        assert_eq!(runs[1]["counts"], counts(3, 0));
    }
}

/// Q15: labels are replaced as a whole.
#[test]
fn a_device_has_labels() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let label = |labels: Value| server.admin().patch("/api/devices/PC-01-d1", &json!({"labels": labels}));
    assert_eq!(
        label(json!({"rack": "7", "os": "14"})).expect(200)["labels"],
        json!({"rack": "7", "os": "14"})
    );
    assert_eq!(label(json!({"rack": "8"})).expect(200)["labels"], json!({"rack": "8"}));
    assert_eq!(server.device("PC-01-d1")["labels"], json!({"rack": "8"}));
    let _ = label(json!({"rack": 8})).problem(422);
    assert_eq!(
        server.admin().patch("/api/devices/PC-01-d1", &json!({"label": {}})).problem(422)["field"],
        "label"
    );
}

/// Q15: a draining node gets no more work and ends what it has; resumed, it gets work again.
#[test]
fn a_node_is_drained_and_resumed() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&run());
    let job = node.job();
    let order = |server: &Server, word: &str| {
        server.admin().post(&format!("/api/nodes/PC-01/{word}"), &json!({})).expect(200)["draining"].clone()
    };
    assert_eq!(order(&server, "drain"), true);
    server.kill9();
    server.restart();
    assert!(node.jobs(5).is_empty());
    node.succeed(&job);
    assert!(node.jobs(5).is_empty());
    assert_eq!(server.why("run", &run), "node_draining");
    assert_eq!(order(&server, "resume"), false);
    assert_eq!(node.jobs(5).len(), 1);
}

/// Q15: what there is not is 404, on every route that names one.
#[test]
fn what_there_is_not_is_not_found() {
    let server = Server::start();
    let unknown = "01990000-0000-7000-8000-000000000001";
    for target in [
        format!("/api/runs/{unknown}"),
        "/api/runs/x".to_owned(),
        format!("/api/runs/{unknown}/task_devices"),
        format!("/api/runs/{unknown}/attempts"),
        format!("/api/runs/{unknown}/artifacts"),
        "/api/devices/nobody/task_devices".to_owned(),
        "/api/devices/nobody/artifacts".to_owned(),
        format!("/api/task_devices/{unknown}.0000001"),
        format!("/api/task_devices/{unknown}.0000001/history"),
        "/api/devices/nobody".to_owned(),
        "/api/pcs/nobody".to_owned(),
        format!("/api/explain/run/{unknown}"),
        "/api/explain/colour/red".to_owned(),
    ] {
        let _ = server.admin().get(&target).problem(404);
    }
    for target in [
        "/api/runs/x/cancel",
        "/api/devices/nobody/return",
        "/api/nodes/nobody/drain",
        "/api/nodes/nobody/resume",
        "/api/nodes/nobody/secret",
    ] {
        let _ = server.admin().post(target, &json!({})).problem(404);
    }
    let _ = server.admin().patch("/api/devices/nobody", &json!({"labels": {}})).problem(404);
    let _ = server.admin().patch("/api/pcs/nobody", &json!({"max_devices": 1})).problem(404);
}

/// Q15, N17, N8b: alerts are listed, newest first, by page.
#[test]
fn alerts_are_listed() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    for _ in 0..3 {
        let run = server.submit(&run());
        node.succeed(&node.job());
        node.tell(&Event::run_finished("PC-01", &run, (7, 7)));
    }
    let page = server.admin().get("/api/alerts?limit=2").expect(200);
    assert_eq!(page["alerts"].as_array().unwrap().len(), 2);
    let next = muster_tests::percent_encode(page["next"].as_str().unwrap());
    let rest = server.admin().get(&format!("/api/alerts?limit=2&after={next}")).expect(200);
    assert_eq!(rest["alerts"].as_array().unwrap().len(), 1);
    assert!(page["alerts"][0]["at"].as_i64() >= rest["alerts"][0]["at"].as_i64());
}
