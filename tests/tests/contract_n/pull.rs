//! Pull: N1, N1b.

use crate::{run, texts};
use muster_tests::{Event, FakeNode, Server, until};
use serde_json::{Value, json};
use std::thread;

/// N1: a waiting pull is answered the moment work appears; of several nodes waiting, each one.
#[test]
fn every_waiting_node_is_answered_at_once() {
    let server = Server::start();
    let nodes: Vec<_> = (1..=5).map(|n| FakeNode::enrolled(server.node(), &format!("PC-0{n}"), 1)).collect();
    let answers: Vec<Value> = thread::scope(|scope| {
        let waiting: Vec<_> = nodes.iter().map(|node| scope.spawn(|| node.wait(1, 30_000))).collect();
        // Nothing tells that a pull waits, so give each time to arrive; one that comes late is answered as well.
        thread::sleep(std::time::Duration::from_millis(300));
        let _ = server.submit(&run());
        waiting.into_iter().map(|node| node.join().unwrap()).collect()
    });
    let submitted: i64 = server.database().count("SELECT created_at FROM tasks");
    for (node, answer) in nodes.iter().zip(&answers) {
        assert_eq!(answer["jobs"][0]["device_id"], node.devices[0]);
        let late_ms = answer["now"].as_i64().unwrap() - submitted;
        assert!(late_ms < 15_000, "{} was answered after {late_ms} ms, not when work appeared", node.name);
    }
}

/// N1: a freed slot is work that appears: it answers a waiting pull too.
#[test]
fn a_freed_slot_answers_a_waiting_pull() {
    let server = Server::with(&[("MUSTER_OPERATIONS__SLOTS", "1")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let _ = server.submit(&run());
    let first = node.job();
    thread::scope(|scope| {
        let second = scope.spawn(|| node.wait(1, 30_000));
        node.succeed(&first);
        let second = second.join().unwrap();
        assert_eq!(second["jobs"][0]["device_id"], "PC-01-d2", "{second}");
    });
}

/// N1, N1b: `stop` names a job cancelled while running, until its end is reported.
#[test]
fn a_cancelled_job_is_to_be_stopped() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let job = node.job();
    node.tell(&Event::started("PC-01", &job));
    let _ = server.admin().post(&format!("/api/runs/{run}/cancel"), &json!({})).expect(200);
    let task = job["task_id"].as_str().unwrap();
    assert_eq!(texts(&node.pull(0)["stop"]), [task]);
    server.kill9();
    server.restart();
    assert_eq!(texts(&node.pull(0)["stop"]), [task]);
    node.tell(&Event::failed("PC-01", &job, "unknown"));
    assert_eq!(node.pull(0)["stop"], json!([]));
    assert_eq!(server.rows(&run)[0]["status"], "cancelled");
}
