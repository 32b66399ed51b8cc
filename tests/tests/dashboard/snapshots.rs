//! Who may have snapshots, and that the feed goes on from them without a gap: I7, I8, Q13.

use crate::believed::Believed;
use muster_tests::{Event, FakeNode, Request, Server, until};
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// I7: snapshots need an operator's token; whoever may read gets them, a node does not.
#[test]
fn snapshots_need_a_token() {
    let server = Server::start();
    let viewer = server.user("vera", &["VIEWER"]);
    for path in ["/api/overview", "/api/fleet", "/api/settings"] {
        assert_eq!(server.anonymous().get(path).status, 401, "{path}");
        assert_eq!(server.node().get(path).status, 403, "{path}");
        assert_eq!(viewer.get(path).status, 200, "{path}");
        assert_eq!(server.admin().get(path).status, 200, "{path}");
        assert_eq!(server.admin().get(&format!("{path}?limit=1")).status, 422, "{path}");
        assert_eq!(server.admin().post(path, &json!({})).status, 405, "{path}");
    }
}

/// I8, Q13: a snapshot and the entries after its number are together what a later snapshot says, whatever happened while
/// the snapshots were read. Entries that a snapshot had seen already change nothing.
#[test]
fn a_snapshot_and_the_feed_are_a_later_snapshot() {
    let server = Server::with(&[("MUSTER_OPERATIONS__MAX_ATTEMPTS", "1")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 60);
    let _ = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let taken = AtomicUsize::new(0);
    let snapshots = thread::scope(|scope| {
        let working = scope.spawn(|| work(&server, &node, &taken));
        let mut snapshots: Vec<Value> = Vec::new();
        while !working.is_finished() {
            take(&server, &mut snapshots);
            taken.store(snapshots.len(), Ordering::Relaxed);
        }
        snapshots
    });
    let last = until("a snapshot of the end", || {
        let snapshot = server.admin().get("/api/fleet").expect(200);
        let newest = server.database().count("SELECT max(first_seq + count - 1) FROM feed");
        (snapshot["seq"].as_i64() == Some(newest)).then_some(snapshot)
    });
    assert!(snapshots.len() > 1, "something was seen while it happened");
    for snapshot in &snapshots {
        assert_eq!(caught_up(&server, snapshot, &last), Believed::of(&last), "from {}", snapshot["seq"]);
    }
}

/// Keeps a snapshot, unless it is the one from before.
fn take(server: &Server, snapshots: &mut Vec<Value>) {
    let snapshot = server.admin().get("/api/fleet").expect(200);
    if snapshots.last().is_none_or(|before| before["seq"] != snapshot["seq"]) {
        snapshots.push(snapshot);
    }
}

/// A busy minute of a fleet.
fn work(server: &Server, node: &FakeNode, taken: &AtomicUsize) {
    for round in 0..8 {
        until("somebody looks meanwhile", || (taken.load(Ordering::Relaxed) > round / 2).then_some(()));
        for (n, job) in node.jobs(5).iter().enumerate() {
            if n == round % 5 {
                node.fail(job);
            } else {
                node.succeed(job);
            }
        }
        let other = FakeNode::enrolled(server.node(), &format!("PC-1{round}"), 3);
        let _ = server.admin().post(&format!("/api/nodes/{}/drain", other.name), &json!({})).expect(200);
    }
    let _ = server.admin().post("/api/nodes/PC-10/resume", &json!({})).expect(200);
    let failed = server.admin().get("/api/devices?status=ERROR").expect(200);
    let failed = failed["devices"][0]["id"].as_str().or(failed["devices"][0]["device_id"].as_str()).unwrap();
    let _ = server.admin().post(&format!("/api/devices/{failed}/return"), &json!({"note": "n"})).expect(200);
    let running = node.jobs(3);
    node.tell(&Event::started(&node.name, &running[0]));
    list(node, |n| n >= 5 && n != 30);
    node.succeed(&running[1]);
    list(node, |n| n >= 2);
}

/// Has a node list some of its devices; those it leaves out are absent, whatever they are at.
fn list(node: &FakeNode, is_there: impl Fn(usize) -> bool) {
    let listed = node.listed();
    let there = listed.as_array().unwrap().iter().enumerate().filter(|(place, _)| is_there(*place));
    let devices: Vec<&Value> = there.map(|(_, device)| device).collect();
    let _ = node.ask(&json!({"node_id": node.name, "max_jobs": 0, "devices": devices})).expect(200);
}

/// What whoever began with `snapshot` and read the feed up to `last` believes.
fn caught_up(server: &Server, snapshot: &Value, last: &Value) -> Believed {
    let (from, to) = (snapshot["seq"].as_u64().unwrap(), last["seq"].as_u64().unwrap());
    let mut believed = Believed::of(snapshot);
    if from == to {
        return believed;
    }
    let request = Request::new("GET", &format!("/api/events?after={from}"));
    let mut stream = server.admin().stream(request).unwrap();
    for expected in from + 1..=to {
        let event = stream.next_event().unwrap();
        assert_eq!(event.id, expected, "no gap");
        believed.apply(&event);
    }
    believed
}
