//! Why is this not running: Q16.

use crate::{cancel, run, run_in};
use muster_tests::{Event, FakeNode, Server, until};
use serde_json::{Value, json};

fn check(server: &Server, (kind, id): (&str, &str), (code, rule): (&str, &str)) -> Value {
    let why = server.admin().get(&format!("/api/explain/{kind}/{id}")).expect(200);
    assert_eq!((why["code"].as_str(), why["rule"].as_str()), (Some(code), Some(rule)), "{why}");
    assert_eq!((&why["kind"], &why["id"]), (&json!(kind), &json!(id)));
    let sentence = why["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("The ") && sentence.ends_with('.') && sentence.contains(id), "{sentence}");
    why["data"].clone()
}

/// Q16: what a queue, a slot, a lane or a scope holds back is named with rule, code and data.
#[test]
fn the_rule_that_holds_something_back_is_named() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let _ = FakeNode::enrolled(server.node(), "PC-02", 1);
    check(&server, ("node", "PC-01"), ("no_work", "Q2"));
    check(&server, ("device", "PC-01-d1"), ("no_work", "Q2"));
    let one = server.submit(&json!({"workflow_id": "w", "params": {}, "scope": {"pcs": ["PC-01"]}}));
    check(&server, ("device", "PC-02-d1"), ("out_of_scope", "Q6"));
    check(&server, ("node", "PC-02"), ("no_work", "Q2"));
    let two = server.submit(&run());
    assert_eq!(check(&server, ("run", &two), ("queued_behind", "Q2"))["run_id"], *one);
    check(&server, ("run", &one), ("awaiting_pull", "N1"));
    check(&server, ("node", "PC-01"), ("awaiting_pull", "N1"));
    for waiting in [("device", "PC-02-d1"), ("node", "PC-02")] {
        let data = check(&server, waiting, ("work_queued_behind", "Q2"));
        assert_eq!(
            (&data["run_id"], &data["active_run_id"], &data["ahead"]),
            (&json!(two), &json!(one), &json!(1))
        );
    }
    let _ = server.admin().patch("/api/pcs/PC-01", &json!({"max_devices": 1})).expect(200);
    let job = node.job();
    let task = job["task_id"].as_str().unwrap();
    check(&server, ("task_device", task), ("awaiting_redelivery", "N2"));
    node.tell(&Event::started("PC-01", &job));
    check(&server, ("task_device", task), ("running", "Q1"));
    check(&server, ("run", &one), ("running", "Q1"));
    assert_eq!(check(&server, ("device", "PC-01-d2"), ("no_slot", "Q3"))["max_devices"], 1);
    let other = server
        .submit(&json!({"workflow_id": "w", "params": {}, "queue": "b", "scope": {"devices": ["PC-01-d1"]}}));
    check(&server, ("run", &other), ("lane_busy", "Q5"));
    cancel(&server, &other);
    node.tell(&Event::failed("PC-01", &job, "unknown"));
    check(&server, ("task_device", task), ("awaiting_retry", "Q10"));
    node.succeed(&node.job());
    check(&server, ("device", "PC-01-d2"), ("already_served", "Q5"));
    node.succeed(&node.job());
    check(&server, ("run", &one), ("ended", "Q7"));
    check(&server, ("task_device", task), ("ended", "Q8"));
}

/// Q16: so is what operators, silence, faults and vanished devices hold back.
#[test]
fn what_stands_still_is_explained() {
    let server =
        Server::with(&[("MUSTER_NODES__OFFLINE_AFTER_S", "2"), ("MUSTER_NODES__DROPOUT_PAUSE_S", "60")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 4);
    let first = server.submit(&run_in("a", 1));
    let _ = server.admin().post("/api/nodes/PC-01/drain", &json!({})).expect(200);
    check(&server, ("run", &first), ("node_draining", "Q15"));
    let _ = server.admin().post("/api/nodes/PC-01/resume", &json!({})).expect(200);
    let job = node.job();
    node.fail(&job);
    check(&server, ("device", "PC-01-d1"), ("device_error", "Q11"));
    let job = node.job();
    cancel(&server, &first);
    check(&server, ("task_device", job["task_id"].as_str().unwrap()), ("stopping", "Q7"));
    let second = server
        .submit(&json!({"workflow_id": "w", "params": {}, "scope": {"devices": ["nobody"]}, "queue": "b"}));
    check(&server, ("run", &second), ("waiting_for_devices", "Q6"));
    let left = json!([node.listed()[0].clone()]);
    let _ = node.ask(&json!({"node_id": "PC-01", "max_jobs": 0, "devices": left})).expect(200);
    check(&server, ("device", "PC-01-d3"), ("device_offline", "Q6"));
    check(&server, ("node", "PC-01"), ("supply_paused", "N17"));
    until("the node is offline", || (server.pc("PC-01")["pc_status"] == "offline").then_some(()));
    check(&server, ("node", "PC-01"), ("node_offline", "N15"));
    check(&server, ("device", "PC-01-d3"), ("node_offline", "N15"));
}

/// Q16: what ended long ago is explained from the store, also after a restart.
#[test]
fn the_past_is_explained_too() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let job = node.job();
    node.succeed(&job);
    server.kill9();
    server.restart();
    assert_eq!(check(&server, ("run", &run), ("ended", "Q7"))["status"], "success");
    check(&server, ("task_device", job["task_id"].as_str().unwrap()), ("ended", "Q8"));
}
