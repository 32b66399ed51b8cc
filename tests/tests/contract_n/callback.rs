//! Callbacks: N4 to N7.

use crate::run;
use muster_tests::{Event, FakeNode, Request, Server, now_ms};
use serde_json::{Value, json};

/// A server, a node with one device, and the job it was handed.
fn at_work() -> (Server, FakeNode, Value) {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = server.submit(&run());
    let job = node.job();
    (server, node, job)
}

/// N4: nested or flat, with optional fields null or unknown ones beside; answered byte for byte.
#[test]
fn both_shapes_are_taken_and_answered_byte_for_byte() {
    let (server, node, job) = at_work();
    let first = Event::started("PC-01", &job).set("attempt", Value::Null).set("lease_token", Value::Null);
    assert_eq!(node.send(&first.flat()).text(), r#"{"ok":true}"#);
    assert_eq!(node.send(&first.flat()).text(), r#"{"ok":true,"duplicate":true}"#);
    let end = Event::succeeded("PC-01", &job).set("artifact", Value::Null).set("error_message", Value::Null);
    let end = end.set("failure_reason", Value::Null).set("battery", json!({"level": 7}));
    assert_eq!(node.send(&end.nested()).text(), r#"{"ok":true}"#);
    let kept = server.database().column("SELECT body FROM node_events WHERE type = 'task_finished'");
    assert!(kept[0].contains(r#""battery":{"level":7}"#), "{kept:?}");
}

/// N4: `event_id` is required, top-level, 1 to 128 characters.
#[test]
fn an_event_has_an_id() {
    let (_server, node, job) = at_work();
    let event = Event::started("PC-01", &job);
    for bad in [Value::Null, json!(""), json!(7), json!("x".repeat(129))] {
        let mut body = event.nested();
        body["event_id"] = bad;
        assert_eq!(node.send(&body).problem(422)["field"], "event_id");
    }
    let mut inside = event.nested();
    inside["payload"]["event_id"] = inside.as_object_mut().unwrap().remove("event_id").unwrap();
    assert_eq!(node.send(&inside).problem(422)["field"], "event_id");
    let mut longest = event.nested();
    longest["event_id"] = json!("é".repeat(128));
    let _ = node.send(&longest).expect(200);
}

/// N5: a repeat changes nothing, whatever its timestamp, also after kill -9, flat as nested; an id that is used for another
/// event is refused, logged, and raises an alert.
#[test]
fn an_event_counts_once_over_a_kill() {
    let (mut server, node, job) = at_work();
    let started = Event::started("PC-01", &job);
    let failed = Event::failed("PC-01", &job, "screenshot_error");
    node.tell(&started);
    node.tell(&failed);
    let second = node.job();
    server.kill9();
    server.restart();
    let before = server.database().dump(&["feed"]);
    for event in [&started, &failed] {
        for body in [event.nested(), event.flat()] {
            assert_eq!(node.send(&body).expect(200), json!({"ok": true, "duplicate": true}));
        }
        let resent = event.clone().set("timestamp", json!(now_ms() + 1));
        assert_eq!(node.send(&resent.nested()).expect(200), json!({"ok": true, "duplicate": true}));
    }
    assert_eq!(server.database().dump(&["feed"]), before);
    let mut other = Event::run_started("PC-01", job["run_id"].as_str().unwrap()).nested();
    other["event_id"] = started.nested()["event_id"].clone();
    let _ = node.send(&other).problem(409);
    assert!(server.log().contains("409"), "the refusal is logged");
    assert_eq!(server.alerts()[0]["kind"], "event_conflict");
    node.succeed(&second);
}

/// N5: an event older than its id would be kept is stale.
#[test]
fn an_ancient_event_is_stale() {
    let (server, node, job) = at_work();
    let ancient = Event::succeeded("PC-01", &job).set("timestamp", json!(now_ms() - 91 * 86_400_000));
    assert_eq!(node.tell(&ancient), json!({"ok": true, "stale": true}));
    assert_eq!(server.rows(job["run_id"].as_str().unwrap())[0]["status"], "running");
}

/// N6: refusals come in the contract's order: 401, 413, 400, 422, 409 (id), 404, 409 (holder).
#[test]
fn refusals_come_in_order() {
    let (server, node, job) = at_work();
    let used = Event::started("PC-01", &job);
    node.tell(&used);
    let other = FakeNode::enrolled(server.node(), "PC-02", 1);
    let post = |body: &[u8]| Request::new("POST", "/api/nodes/callback").bytes(body.to_vec());
    let huge = vec![b'{'; 1_048_577];
    assert_eq!(server.anonymous().send(post(&huge)).status, 401);
    let _ = server.node().send(post(&huge)).problem(413);
    let _ = server.node().send(post(b"{\"event_id\": ")).problem(400);
    let again = |event: Event| Event { id: used.id.clone(), ..event };
    let unknown_run = again(Event::started("PC-02", &job)).set("run_id", json!("none")).unset("workflow_id");
    assert_eq!(other.send(&unknown_run.nested()).problem(422)["field"], "workflow_id");
    let unknown_run = again(Event::started("PC-02", &job)).set("run_id", json!("none"));
    let _ = other.send(&unknown_run.nested()).problem(409);
    let unknown_run = Event::started("PC-02", &job).set("run_id", json!("none"));
    let _ = other.send(&unknown_run.nested()).problem(404);
    let _ = other.send(&Event::started("PC-02", &job).nested()).problem(409);
}

/// N6: unknown run, task and device are 404, a task of another node 409, and a refused id is not remembered.
#[test]
fn a_refused_id_is_not_remembered() {
    let (server, node, job) = at_work();
    let _ = FakeNode::enrolled(server.node(), "PC-02", 1);
    let good = Event::started("PC-01", &job);
    for (field, value) in [
        ("run_id", json!("01990000-0000-7000-8000-000000000001")),
        ("run_id", json!("x")),
        ("task_id", json!("x")),
        ("task_id", json!(format!("{}.0000077", job["run_id"].as_str().unwrap()))),
        ("device_id", json!("PC-02-d1")),
        ("device_id", json!("nobody")),
    ] {
        let _ = node.send(&good.clone().set(field, value).nested()).problem(404);
    }
    let _ = node.send(&good.clone().set("node_id", json!("PC-02")).nested()).problem(409);
    let _ = node.send(&good.clone().set("timeoutMs", json!("1")).nested()).problem(422);
    assert_eq!(node.tell(&good), json!({"ok": true}));
}

/// N6: a body of 1 MiB is taken, one byte more is 413.
#[test]
fn a_body_has_a_longest_length() {
    let (_server, node, job) = at_work();
    let event = Event::started("PC-01", &job);
    let padded = |length: usize| {
        let bare = event.clone().set("padding", json!("")).nested().to_string().len();
        let body = event.clone().set("padding", json!("x".repeat(length - bare))).nested().to_string();
        assert_eq!(body.len(), length);
        node.client().send(Request::new("POST", "/api/nodes/callback").bytes(body.into_bytes()))
    };
    let _ = padded(1_048_577).problem(413);
    let _ = padded(1_048_576).expect(200);
}

/// N6b: a report of another attempt is stale, by number, by token or by its beginning; it is recorded, without effect.
#[test]
fn a_report_of_another_attempt_is_stale() {
    let (server, node, first) = at_work();
    let before = now_ms() - 60_000;
    node.fail(&first);
    let second = node.job();
    let stale = json!({"ok": true, "stale": true});
    let of_second = || Event::succeeded("PC-01", &second);
    assert_eq!(node.tell(&Event::succeeded("PC-01", &first)), stale);
    assert_eq!(node.tell(&of_second().unset("lease_token").set("attempt", json!(1))), stale);
    assert_eq!(node.tell(&of_second().unset("attempt").set("lease_token", json!("0".repeat(32)))), stale);
    assert_eq!(node.tell(&of_second().set("lease_token", json!("no token of ours"))), stale);
    let began_before = json!({"startedAt": before, "endedAt": before + 1});
    assert_eq!(node.tell(&of_second().without_fence().set("timings", began_before)), stale);
    let row = &server.rows(first["run_id"].as_str().unwrap())[0];
    assert_eq!((row["status"].as_str(), row["attempt"].as_u64()), (Some("running"), Some(2)));
    let recorded = "SELECT count(*) FROM node_events WHERE effect = 'stale'";
    assert_eq!(server.database().count(recorded), 5);
    assert_eq!(node.tell(&of_second().without_fence()), json!({"ok": true}));
    assert_eq!(server.run(first["run_id"].as_str().unwrap())["status"], "success");
}

/// N7: `task_finished` before its `task_started` counts as both; what comes late moves nothing.
#[test]
fn out_of_order_arrival_is_normal() {
    let (server, node, job) = at_work();
    let (started, progress) = (Event::started("PC-01", &job), Event::progress("PC-01", &job, "UPLOAD"));
    node.tell(&Event::succeeded("PC-01", &job));
    let task = job["task_id"].as_str().unwrap();
    let words: Vec<String> = server.history(task).into_iter().map(|(_, word)| word).collect();
    assert_eq!(words, ["CREATED", "SENT", "ACKED", "SUCCEEDED"]);
    assert_eq!(node.tell(&progress)["ok"], true);
    assert_eq!(node.tell(&started)["ok"], true);
    node.tell(&Event::failed("PC-01", &job, "unknown"));
    assert_eq!(server.rows(job["run_id"].as_str().unwrap())[0]["status"], "completed");
    assert_eq!(server.history(task).len(), 4);
}
