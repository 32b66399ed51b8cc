//! The routes of operators: Q15.

use crate::{run, run_in};
use muster_tests::{Event, FakeNode, Request, Server};
use serde_json::{Value, json};

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
