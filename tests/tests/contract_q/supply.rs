//! How rows come into being: Q3, Q4, Q5.

use crate::{run, run_in};
use muster_tests::{FakeNode, Server};
use serde_json::{Value, json};

/// Q3: a PC is filled exactly up to 20, and each freed slot refilled: 19 gets 1 more, 18 gets 2 more.
#[test]
fn a_pc_is_refilled_exactly_up_to_its_slots() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 30);
    let _ = server.submit(&run());
    let jobs = node.jobs(100);
    assert_eq!(jobs.len(), 20);
    assert!(node.jobs(100).is_empty());
    node.succeed(&jobs[0]);
    assert_eq!(node.jobs(100).len(), 1);
    node.succeed(&jobs[1]);
    node.succeed(&jobs[2]);
    assert_eq!(node.jobs(100).len(), 2);
    assert_eq!(server.pc("PC-01")["running_count"], 20);
}

/// Q21: `running_count`, `eligible_device_count` and `target` of a PC, as Q3 defines them; without an active run nothing is
/// eligible.
#[test]
fn a_pc_shows_its_target() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 30);
    let figures = || {
        let listed = server.admin().get("/api/pcs").expect(200)["pcs"][0].clone();
        let alone = server.pc("PC-01");
        ["running_count", "eligible_device_count", "target"].map(|field| {
            assert_eq!(listed[field], alone[field], "{field}");
            listed[field].as_u64().unwrap()
        })
    };
    assert_eq!(figures(), [0, 0, 0]);
    let run = server.submit(&run());
    assert_eq!(figures(), [0, 30, 20]);
    let jobs = node.jobs(19);
    assert_eq!(figures(), [19, 11, 20]);
    node.succeed(&jobs[0]);
    assert_eq!(figures(), [18, 11, 20]);
    let _ = server.admin().patch("/api/pcs/PC-01", &json!({"max_devices": 18})).expect(200);
    assert_eq!(figures(), [18, 11, 18]);
    let _ = server.admin().post(&format!("/api/runs/{run}/cancel"), &json!({})).expect(200);
    assert_eq!(figures(), [18, 0, 18]);
}

/// Q3, Q15: a PC's own `max_devices` is the cap where set, for pulls and claims alike.
#[test]
fn a_pc_may_have_a_cap_of_its_own() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 30);
    let cap = |cap: Value| server.admin().patch("/api/pcs/PC-01", &json!({"max_devices": cap}));
    assert_eq!(cap(json!(3)).expect(200)["max_devices"], 3);
    let _ = server.submit(&run());
    assert_eq!(node.jobs(2).len(), 2);
    let claim = json!({"runner_pc_name": "PC-01", "max_to_claim": 9});
    let claimed = server.node().post("/rest/v1/rpc/claim_task_devices_for_pc", &claim).expect(200);
    assert_eq!(claimed.as_array().unwrap().len(), 1);
    let _ = cap(json!(5)).expect(200);
    assert_eq!(node.jobs(100).len(), 2);
    let _ = cap(Value::Null).expect(200);
    assert_eq!(node.jobs(100).len(), 15, "20 again");
    for bad in [json!(0), json!(-1), json!("7"), json!(1.5)] {
        assert_eq!(cap(bad).problem(422)["field"], "max_devices");
    }
}

/// Q4: a run over ten thousand devices creates rows only as slots free.
#[test]
fn rows_come_only_as_slots_free() {
    let server = Server::start();
    let nodes: Vec<_> =
        (0..20).map(|n| FakeNode::enrolled(server.node(), &format!("PC-{n:02}"), 500)).collect();
    let run = server.submit(&run());
    let rows = || server.database().count("SELECT count(*) FROM task_devices");
    assert_eq!(rows(), 0, "no row before anybody asked");
    let jobs = nodes[0].jobs(100);
    assert_eq!(rows(), 20);
    nodes[0].succeed(&jobs[0]);
    assert_eq!(rows(), 20);
    assert_eq!(nodes[0].jobs(100).len(), 1);
    assert_eq!(rows(), 21);
    assert_eq!(server.run(&run)["status"], "running");
    assert_eq!(server.database().count("SELECT count(*) FROM devices"), 10_000);
}

/// Q5: eligible is who is online, not ERROR, not served by this run, and without a live attempt.
#[test]
fn only_eligible_devices_are_supplied() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 4);
    let _ = server.submit(&run_in("a", 1));
    let broken = node.job();
    node.fail(&broken);
    assert_eq!(server.device("PC-01-d1")["status"], "ERROR");
    let served = node.job();
    node.succeed(&served);
    let busy = node.job();
    let mut devices = node.listed();
    devices[3]["status"] = json!("offline");
    let _ = node.ask(&json!({"node_id": "PC-01", "max_jobs": 0, "devices": devices})).expect(200);
    assert!(node.jobs(100).is_empty(), "ERROR, served, busy, offline");
    let other = server.submit(&run_in("b", 1));
    let jobs = node.jobs(100);
    assert_eq!(jobs.len(), 1, "the other run may have the served one only");
    assert_eq!((&jobs[0]["device_id"], &jobs[0]["run_id"]), (&served["device_id"], &json!(other)));
    node.succeed(&busy);
    assert_eq!(node.jobs(100)[0]["device_id"], busy["device_id"]);
}
