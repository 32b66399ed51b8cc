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
