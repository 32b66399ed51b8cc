//! Timeouts, retries and devices out of service: Q9, Q10, Q11.

use crate::{run, run_in};
use muster_tests::{Event, FakeNode, Server, until};
use serde_json::{Value, json};

/// Q9, Q10, Q12: an overdue attempt ends as TIMEOUT in the setting's words and costs a retry; the clock starts anew.
#[test]
fn an_overdue_attempt_costs_a_retry() {
    let server = Server::with(&[("MUSTER_OPERATIONS__ATTEMPT_TIMEOUT_S", "0.5")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run_in("default", 2));
    for attempt in 1..=2 {
        let job = until("an attempt is handed out", || node.jobs(1).pop());
        assert_eq!(job["attempt"], attempt);
        node.tell(&Event::started("PC-01", &job));
        let row = &server.rows(&run)[0];
        let clock = row["timeout_at"].as_i64().unwrap() - row["started_at"].as_i64().unwrap();
        assert_eq!(clock, 500, "attempt {attempt}");
    }
    until("the last attempt times out", || (server.rows(&run)[0]["status"] == "failed").then_some(()));
    let row = &server.rows(&run)[0];
    assert_eq!(row["error"], "Task device timeout: exceeded 0.5 seconds");
    assert_eq!((row["attempt"].as_u64(), server.run(&run)["status"].as_str()), (Some(2), Some("failed")));
    let words: Vec<String> =
        server.history(row["id"].as_str().unwrap()).into_iter().map(|(_, word)| word).collect();
    let attempt = |end| ["SENT", "ACKED", "TIMEOUT", end];
    let expected: Vec<&str> =
        ["CREATED"].into_iter().chain(attempt("RETRY_SCHEDULED")).chain(attempt("FAILED_FINAL")).collect();
    assert_eq!(words, expected);
}

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

/// Q10: three attempts in all by default; a retry comes at once, behind the PC's other devices.
#[test]
fn a_retry_waits_behind_the_other_devices() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&run());
    let first = node.job();
    node.fail(&first);
    let row = &server.rows(&run)[0];
    assert_eq!((row["status"].as_str(), row["attempt"].as_u64()), (Some("pending"), Some(1)));
    assert_eq!(row["max_attempts"], 3);
    assert_eq!(row["error"], "adb_offline: it did not work");
    let other = node.job();
    assert_eq!(other["device_id"], "PC-01-d2");
    for attempt in 2..=3 {
        let again = node.job();
        assert_eq!((&again["task_id"], &again["attempt"]), (&first["task_id"], &json!(attempt)));
        node.fail(&again);
    }
    assert!(node.jobs(5).is_empty());
    let row = &server.rows(&run)[0];
    assert_eq!((row["status"].as_str(), row["attempt"].as_u64()), (Some("failed"), Some(3)));
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
