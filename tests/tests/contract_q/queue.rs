//! One active run per queue and its end: Q2, Q6, Q7.

use crate::{cancel, run, run_in};
use muster_tests::{Event, FakeNode, Server, until};
use serde_json::json;

/// Q2, Q7: at most one run of a queue is active, always the oldest unfinished; its end activates the next at once.
#[test]
fn the_oldest_run_of_a_queue_is_active() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let runs: Vec<String> = (0..3).map(|_| server.submit(&run())).collect();
    let other = server.submit(&run_in("night", 3));
    let active = |server: &Server| {
        server.database().column("SELECT id FROM tasks WHERE status = 'running' ORDER BY seq")
    };
    assert_eq!(active(&server), [&*runs[0], &*other]);
    assert_eq!(server.database().column("SELECT queue FROM tasks WHERE seq = 1"), ["default"]);
    server.kill9();
    server.restart();
    assert_eq!(active(&server), [&*runs[0], &*other]);
    cancel(&server, &runs[0]);
    assert_eq!(active(&server), [&*runs[1], &*other]);
    cancel(&server, &runs[2]);
    let job = node.job();
    node.succeed(&job);
    let next = node.job();
    node.succeed(&next);
    let statuses = server.database().column("SELECT status FROM tasks ORDER BY seq");
    assert_eq!(statuses, ["cancelled", "success", "cancelled", "success"]);
}

/// Q2: queues that share a PC take its slots in turn.
#[test]
fn queues_take_turns() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 6);
    let (one, two) = (server.submit(&run_in("a", 3)), server.submit(&run_in("b", 3)));
    let jobs = node.jobs(4);
    let of = |run: &String| jobs.iter().filter(|job| job["run_id"] == **run).count();
    assert_eq!((of(&one), of(&two)), (2, 2));
}

/// Q6: a device that appears while the run is active joins it; scopes choose by PC, by device and by label.
#[test]
fn a_scope_matches_while_the_run_is_active() {
    let server = Server::start();
    let one = FakeNode::enrolled(server.node(), "PC-01", 2);
    let two = FakeNode::enrolled(server.node(), "PC-02", 2);
    let label = |device: &str| {
        let _ = server
            .admin()
            .patch(&format!("/api/devices/{device}"), &json!({"labels": {"rack": "7"}}))
            .expect(200);
    };
    label("PC-02-d2");
    let scoped =
        |scope| server.submit(&json!({"workflow_id": "w", "params": {}, "scope": scope, "queue": "q"}));
    let served = |node: &FakeNode| {
        let jobs = node.jobs(20);
        jobs.iter().for_each(|job| node.succeed(job));
        jobs.iter().map(|job| job["device_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let by_pc = scoped(json!({"pcs": ["PC-01"]}));
    assert!(served(&two).is_empty());
    assert_eq!(served(&one), ["PC-01-d1", "PC-01-d2"]);
    assert_eq!(server.run(&by_pc)["status"], "success");
    let _ = scoped(json!({"devices": ["PC-01-d2"]}));
    assert_eq!(served(&one), ["PC-01-d2"]);
    let by_label = scoped(json!({"labels": {"rack": "7"}}));
    assert!(served(&one).is_empty());
    label("PC-01-d1");
    assert_eq!(served(&one), ["PC-01-d1"], "it joined late");
    assert_eq!(served(&two), ["PC-02-d2"]);
    assert_eq!(server.run(&by_label)["status"], "success");
}

/// Q6: a device away longer than the grace is closed as cancelled, so one dead PC cannot hold the queue.
#[test]
fn a_device_long_away_is_skipped() {
    let server = Server::with(&[
        ("MUSTER_OPERATIONS__OFFLINE_GRACE_S", "0.3"),
        ("MUSTER_NODES__OFFLINE_AFTER_S", "0.3"),
    ]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _dead = FakeNode::enrolled(server.node(), "PC-02", 2);
    let run = server.submit(&run());
    let job = node.job();
    until("the dead PC's devices are skipped", || {
        let _ = node.pull(0);
        (server.run(&run)["counts"]["cancelled"] == 2).then_some(())
    });
    for row in server.rows(&run).iter().filter(|row| row["pc_id"] == "PC-02") {
        assert_eq!(
            (row["status"].as_str(), row["error"].as_str()),
            (Some("cancelled"), Some("skipped: device offline"))
        );
    }
    assert_eq!(server.run(&run)["status"], "running", "PC-01 is at work");
    node.succeed(&job);
    assert_eq!(server.run(&run)["status"], "success");
}

/// Q6: a run that matches no device waits for one as long as the grace, then fails.
#[test]
fn a_run_without_devices_waits_and_fails() {
    let server = Server::with(&[("MUSTER_OPERATIONS__OFFLINE_GRACE_S", "0.4")]);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}, "scope": {"devices": ["nobody"]}}));
    assert_eq!(server.why("run", &run), "waiting_for_devices");
    let next = server.submit(&json!({"workflow_id": "w", "params": {}, "queue": "default"}));
    until("the run fails", || (server.run(&run)["status"] == "failed").then_some(()));
    assert_eq!(server.run(&run)["error"], "no eligible device");
    assert_eq!(server.run(&next)["status"], "running");
}

/// Q7: success when at least one completed, failed when none did.
#[test]
fn a_run_ends_by_its_rows() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let mixed = server.submit(&run_in("a", 1));
    let jobs = node.jobs(3);
    node.fail(&jobs[0]);
    node.fail(&jobs[1]);
    assert_eq!(server.run(&mixed)["status"], "running");
    node.succeed(&jobs[2]);
    assert_eq!(server.run(&mixed)["status"], "success");
    let bad = server.submit(
        &json!({"workflow_id": "w", "params": {}, "scope": {"devices": ["PC-01-d3"]}, "max_attempts": 1}),
    );
    node.fail(&node.job());
    let shown = server.run(&bad);
    assert_eq!(shown["status"], "failed");
    assert_eq!(shown["counts"]["failed"], 1);
    assert!(shown["completed_at"].is_i64());
}

/// Q7, Q15: a cancelled run is cancelled at once; what runs holds its lane until its end, then ends cancelled.
#[test]
fn a_cancelled_run_holds_its_lanes_until_their_end() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&run());
    let job = node.job();
    node.tell(&Event::started("PC-01", &job));
    let answer = cancel(&server, &run);
    assert_eq!(answer, json!({"run_id": run, "status": "cancelled"}));
    let _ = server.admin().post(&format!("/api/runs/{run}/cancel"), &json!({})).problem(409);
    let next = server.submit(&crate::run());
    let handed = node.jobs(5);
    assert_eq!(handed.len(), 1, "the lane of the cancelled job is taken");
    assert_eq!(handed[0]["device_id"], "PC-01-d2");
    assert_eq!(server.rows(&run)[0]["status"], "running");
    assert_eq!(server.why("device", "PC-01-d1"), "stopping");
    node.tell(&Event::succeeded("PC-01", &job));
    assert_eq!(server.rows(&run)[0]["status"], "cancelled");
    assert_eq!(node.job()["device_id"], "PC-01-d1");
    assert_eq!(server.run(&next)["status"], "running");
}
