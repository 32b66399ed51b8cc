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

/// N8b, N14, N9: run_started and run_finished are recorded only; a summary unlike the rows raises an alert.
#[test]
fn a_summary_unlike_the_rows_raises_an_alert() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&run());
    let jobs = node.jobs(2);
    node.tell(&Event::run_started("PC-01", &run));
    assert_eq!(server.run(&run)["status"], "running");
    for job in &jobs {
        node.succeed(job);
    }
    node.tell(&Event::run_finished("PC-01", &run, (1, 1)));
    let alerts = server.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0]["kind"], "summary_mismatch");
    assert_eq!((&alerts[0]["pc_id"], &alerts[0]["run_id"]), (&json!("PC-01"), &json!(run)));
    assert_eq!(server.run(&run)["status"], "success", "the rows are the truth");
    let kinds = server.database().column("SELECT type FROM node_events ORDER BY id");
    assert_eq!(
        (kinds.first().unwrap().as_str(), kinds.last().unwrap().as_str()),
        ("run_started", "run_finished")
    );
}

/// N9, N10, N11, N12, N14, N6: each event needs each of its fields, of the right type; the refusal names it.
#[test]
fn a_missing_or_wrong_field_is_named() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let job = node.job();
    let optional = ["attempt", "lease_token", "artifact", "error_message"];
    for event in [
        Event::heartbeat("PC-01"),
        Event::run_started("PC-01", &run),
        Event::started("PC-01", &job),
        Event::progress("PC-01", &job, "PREFLIGHT"),
        Event::failed("PC-01", &job, "unknown"),
        Event::run_finished("PC-01", &run, (1, 0)),
    ] {
        let fields: Vec<String> = event.payload.as_object().unwrap().keys().cloned().collect();
        for field in &fields {
            if !optional.contains(&field.as_str()) {
                assert_eq!(node.send(&event.clone().unset(field).nested()).problem(422)["field"], **field);
            }
            let wrong = if event.payload[field].is_string() { json!(7) } else { json!("7") };
            let problem = node.send(&event.clone().set(field, wrong).flat()).problem(422);
            assert_eq!(problem["field"], **field, "{} {problem}", event.kind);
        }
    }
    let mut unknown = Event::heartbeat("PC-01").nested();
    unknown["type"] = json!("node_exploded");
    assert_eq!(node.send(&unknown).problem(422)["field"], "type");
    for (event, field, inner) in [
        (Event::run_finished("PC-01", &run, (1, 0)), "summary", "timeout"),
        (Event::succeeded("PC-01", &job), "timings", "endedAt"),
        (Event::succeeded("PC-01", &job), "artifact", "storage_path"),
    ] {
        let mut value = event.payload[field].clone();
        value.as_object_mut().unwrap().remove(inner);
        let problem = node.send(&event.set(field, value).nested()).problem(422);
        assert_eq!(problem["field"], format!("{field}.{inner}"));
    }
    assert_eq!(server.database().count("SELECT count(*) FROM node_events"), 0);
}

/// N10, N11: a start confirms; progress is told in the feed, with the contract's steps and a workflow's own.
#[test]
fn start_and_progress_are_told() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = server.submit(&run());
    let job = node.job();
    node.tell(&Event::started("PC-01", &job));
    assert_eq!(server.why("task_device", job["task_id"].as_str().unwrap()), "running");
    let long = "A".repeat(64);
    let steps = ["PREFLIGHT", "BOOTSTRAP", "LOGIN_FLOW", "SCREENSHOT", "UPLOAD", "MY_STEP_7", &long];
    for step in steps {
        node.tell(&Event::progress("PC-01", &job, step).set("status", json!("done")));
    }
    for step in ["", "login", "A B", &"A".repeat(65), "É"] {
        let problem = node.send(&Event::progress("PC-01", &job, step).nested()).problem(422);
        assert_eq!(problem["field"], "step");
    }
    let request = muster_tests::Request::new("GET", "/api/events?after=0");
    let mut feed = server.admin().stream(request).unwrap();
    let told: Vec<Value> = std::iter::from_fn(|| feed.next_event().ok())
        .filter(|event| event.kind == "task_progress")
        .map(|event| serde_json::from_str::<Value>(&event.data).unwrap()["step"].clone())
        .take(steps.len())
        .collect();
    assert_eq!(told, steps.map(|step| json!(step)));
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

/// N12: an artifact stays with the row.
#[test]
fn an_artifact_stays_with_the_row() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let job = node.job();
    let end = Event::succeeded("PC-01", &job);
    node.tell(&end);
    let row = &server.rows(&run)[0];
    assert_eq!(row["result"]["artifact"], end.payload["artifact"]);
    assert_eq!(row["status"], "completed");
}
