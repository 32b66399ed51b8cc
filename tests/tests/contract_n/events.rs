//! The six events: N8 to N14.

use crate::run;
use muster_tests::{Event, FAILURE_REASONS, FakeNode, Server};
use serde_json::{Value, json};

/// N8, N5: a heartbeat is shown, known as a repeat, and gone with the process.
#[test]
fn a_heartbeat_is_shown_and_not_kept() {
    let mut server = Server::start();
    let node = FakeNode::new(server.node(), "PC-01", 0);
    let beat = Event::heartbeat("PC-01");
    assert_eq!(node.tell(&beat), json!({"ok": true}));
    assert_eq!(node.tell(&beat), json!({"ok": true, "duplicate": true}));
    let resent = beat.clone().set("running_devices_count", json!(7));
    assert_eq!(node.tell(&resent), json!({"ok": true, "duplicate": true}));
    let _ = node.tell(&beat);
    let shown = server.admin().get("/api/nodes").expect(200)["nodes"][0].clone();
    for field in ["timestamp", "connected_devices_count", "running_devices_count", "queue_devices_count"] {
        assert_eq!(shown[field], beat.payload[field], "{field}");
    }
    assert_eq!((&shown["node_id"], &shown["vendor_ws_ok"]), (&json!("PC-01"), &json!(true)));
    assert_eq!(server.database().count("SELECT count(*) FROM node_events"), 0);
    server.kill9();
    server.restart();
    assert_eq!(node.tell(&beat), json!({"ok": true}), "remembered in memory only");
}

/// N12, N13: every reason is kept with the row and its text; it is there exactly when the task failed.
#[test]
fn every_failure_reason_is_kept() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", FAILURE_REASONS.len());
    let run = server.submit(&json!({"workflow_id": "w", "params": {}, "max_attempts": 1}));
    let jobs = node.jobs(20);
    for (job, reason) in jobs.iter().zip(FAILURE_REASONS) {
        let event = Event::failed("PC-01", job, reason);
        assert_eq!(
            node.send(&event.clone().unset("failure_reason").nested()).problem(422)["field"],
            "failure_reason"
        );
        let well = event.clone().set("status", json!("succeeded"));
        assert_eq!(node.send(&well.nested()).problem(422)["field"], "failure_reason");
        node.tell(&event);
    }
    for (row, reason) in server.rows(&run).iter().zip(FAILURE_REASONS) {
        assert_eq!(row["status"], "failed");
        assert_eq!(row["error"], format!("{reason}: it did not work"));
        assert_eq!(row["result"]["failure_reason"], reason);
        assert!(row["result"]["timings"]["startedAt"].is_i64());
    }
    let unheard = Event::failed("PC-01", &jobs[0], "bad_luck");
    assert_eq!(node.send(&unheard.nested()).problem(422)["field"], "failure_reason");
}
