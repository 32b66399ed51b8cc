//! Timeouts, retries and devices out of service: Q9, Q10, Q11.

use crate::{run, run_in};
use muster_tests::{Event, FakeNode, Server, until};
use serde_json::{Value, json};

/// Q9: an attempt that was overdue while the server was down times out after the restart.
#[test]
fn a_timeout_survives_a_kill() {
    let mut server = Server::with(&[("MUSTER_OPERATIONS__ATTEMPT_TIMEOUT_S", "1")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run_in("default", 1));
    node.tell(&Event::started("PC-01", &node.job()));
    server.kill9();
    server.restart();
    until("it times out", || (server.run(&run)["status"] == "failed").then_some(()));
    assert_eq!(server.rows(&run)[0]["error"], "Task device timeout: exceeded 1 second");
}

/// Q11: FAILED_FINAL takes the device out of service, over a kill, until an operator returns it with a note.
#[test]
fn a_device_that_failed_for_good_is_out_of_service() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = server.submit(&run_in("default", 1));
    node.fail(&node.job());
    server.kill9();
    server.restart();
    let sql = "SELECT d.status FROM devices d JOIN task_devices t ON t.device_id = d.id \
               WHERE t.status = 'failed' AND t.attempt >= t.max_attempts";
    assert_eq!(server.database().column(sql), ["ERROR"]);
    let _ = node.report();
    assert_eq!(server.device("PC-01-d1")["status"], "ERROR", "being reported online does not return it");
    let _ = server.submit(&run_in("other", 1));
    assert!(node.jobs(5).is_empty());
    assert_eq!(server.why("device", "PC-01-d1"), "device_error");
    let back = |body: &Value| server.admin().post("/api/devices/PC-01-d1/return", body);
    let device = back(&json!({"note": "new cable"})).expect(200);
    assert_eq!((device["status"].as_str(), device["note"].as_str()), (Some("ONLINE"), Some("new cable")));
    let _ = back(&json!({})).problem(409);
    let _ = server.submit(&run_in("third", 1));
    assert_eq!(node.jobs(5).len(), 1);
}
