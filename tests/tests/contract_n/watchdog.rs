//! Silence and vanishing devices: N15 to N17.

use crate::run;
use muster_tests::{Event, FakeNode, Server, now_ms, until};
use serde_json::{Value, json};

fn is_offline(server: &Server) -> Option<()> {
    (server.pc("PC-01")["pc_status"] == "offline").then_some(())
}

fn life(server: &Server) -> Vec<String> {
    let pc = server.pc("PC-01");
    let words = pc["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["event_type"].as_str().unwrap().to_owned());
    words.collect()
}

/// N15: a silent node is offline, everywhere and with history; any sign of life brings it back.
#[test]
fn a_silent_node_is_offline_everywhere() {
    let server = Server::with(&[("MUSTER_NODES__OFFLINE_AFTER_S", "0.3")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    until("the node is offline", || is_offline(&server));
    let list = server.admin().get("/api/pcs").expect(200);
    assert_eq!(list["pcs"][0]["pc_status"], "offline");
    let database = server.database();
    assert_eq!(database.column("SELECT status FROM pcs"), ["offline"]);
    assert_eq!(database.column("SELECT pc_status FROM pc_device_summary"), ["offline"]);
    assert_eq!(server.why("node", "PC-01"), "node_offline");
    assert_eq!(server.why("device", "PC-01-d1"), "node_offline");
    assert_eq!(life(&server), ["offline", "enrolled"]);
    node.tell(&Event::heartbeat("PC-01"));
    assert_eq!(life(&server)[..2], ["online", "offline"]);
    until("it is offline again", || is_offline(&server));
    let _ = node.pull(0);
    assert_eq!(life(&server)[0], "online");
}

/// N8c: a node that pulls but sends no heartbeat stays online, is shown as late everywhere, and raises one alert; its next
/// heartbeat ends that.
#[test]
fn a_missing_heartbeat_is_shown() {
    let server = Server::with(&[("MUSTER_NODES__HEARTBEAT_S", "0.2")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let listed = || server.admin().get("/api/nodes").expect(200)["nodes"][0].clone();
    assert_eq!(listed()["node_id"], "PC-01", "listed before its first heartbeat");
    until("the heartbeat is late", || {
        let _ = node.pull(0);
        (listed()["heartbeat"] == "late").then_some(())
    });
    assert_eq!((&listed()["status"], &server.pc("PC-01")["heartbeat"]), (&json!("online"), &json!("late")));
    let why = server.admin().get("/api/explain/node/PC-01").expect(200);
    assert_eq!(why["data"]["heartbeat"], "late", "{why}");
    assert!(why["sentence"].as_str().unwrap().contains("heartbeat has been late"), "{why}");
    let late: Vec<Value> =
        server.alerts().into_iter().filter(|alert| alert["kind"] == "heartbeat_late").collect();
    assert_eq!(late.len(), 1, "{late:?}");
    node.tell(&Event::heartbeat("PC-01"));
    assert_eq!(listed()["heartbeat"], "ok");
    assert_eq!(life(&server)[..2], ["heartbeat_back", "heartbeat_late"]);
}

/// N15: after a start of the server, silence counts from that start.
#[test]
fn silence_counts_from_the_servers_start() {
    let mut server = Server::with(&[("MUSTER_NODES__OFFLINE_AFTER_S", "1")]);
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    server.kill9();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let started = now_ms();
    server.restart();
    until("the node is offline", || is_offline(&server));
    let since = server.pc("PC-01")["status_since"].as_i64().unwrap();
    assert!(since - started >= 1000, "offline {} ms after the start", since - started);
}

/// N15b, Q9b: any sign of life renews the lease; its end is a timeout and costs a retry, and a late end still counts.
#[test]
fn a_lease_lives_on_signs_of_life() {
    let server = Server::with(&[("MUSTER_NODES__LEASE_S", "2"), ("MUSTER_NODES__OFFLINE_AFTER_S", "1")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let job = node.job();
    let granted_until = job["lease"]["until"].as_i64().unwrap();
    until("the first lease is over", || {
        node.tell(&Event::heartbeat("PC-01"));
        (now_ms() > granted_until + 500).then_some(())
    });
    assert_eq!(server.rows(&run)[0]["status"], "running", "renewed by heartbeats");
    until("the lease ends in silence", || (server.rows(&run)[0]["status"] == "pending").then_some(()));
    let task = job["task_id"].as_str().unwrap();
    let words: Vec<String> = server.history(task).into_iter().map(|(_, word)| word).collect();
    assert_eq!(words[words.len() - 2..], ["TIMEOUT", "RETRY_SCHEDULED"]);
    let lost = server.database().column("SELECT timed_out || ' ' || error FROM task_devices");
    assert_eq!(lost, ["1 Task device timeout: its PC fell silent for 2 seconds"], "Q9b");
    assert_eq!(node.tell(&Event::succeeded("PC-01", &job)), json!({"ok": true}));
    assert_eq!(server.rows(&run)[0]["status"], "completed");
    assert_eq!(server.run(&run)["status"], "success");
}

/// N15b, N6b: once a newer attempt is out, the late end of the old one is stale.
#[test]
fn a_late_end_does_not_touch_a_newer_attempt() {
    let server = Server::with(&[("MUSTER_NODES__LEASE_S", "0.3")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let first = node.job();
    node.tell(&Event::started("PC-01", &first));
    until("the lease ends", || (server.rows(&run)[0]["status"] == "pending").then_some(()));
    let second = node.job();
    assert_eq!((&second["task_id"], &second["attempt"]), (&first["task_id"], &json!(2)));
    assert_eq!(node.tell(&Event::succeeded("PC-01", &first)), json!({"ok": true, "stale": true}));
    node.succeed(&second);
}

/// N16: offline is not failure: the work stays the node's, and what it says on its return counts.
#[test]
fn an_offline_node_keeps_its_work() {
    let server = Server::with(&[("MUSTER_NODES__OFFLINE_AFTER_S", "0.3")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&run());
    let jobs = node.jobs(2);
    node.tell(&Event::started("PC-01", &jobs[0]));
    until("the node is offline", || is_offline(&server));
    for row in server.rows(&run) {
        assert_eq!((row["status"].as_str(), row["attempt"].as_u64()), (Some("running"), Some(1)));
    }
    let spooled = [
        Event::progress("PC-01", &jobs[0], "UPLOAD"),
        Event::succeeded("PC-01", &jobs[0]),
        Event::started("PC-01", &jobs[1]),
        Event::succeeded("PC-01", &jobs[1]),
    ];
    for event in &spooled {
        assert_eq!(node.tell(event), json!({"ok": true}));
    }
    assert_eq!(server.pc("PC-01")["pc_status"], "online");
    assert_eq!(server.run(&run)["status"], "success");
}

fn report(node: &FakeNode, devices: &[String]) {
    let device = |id: &String| json!({"device_id": id, "status": "online"});
    let devices: Value = devices.iter().map(device).collect();
    let _ = node.ask(&json!({"node_id": node.name, "max_jobs": 0, "devices": devices})).expect(200);
}

/// N17: a mass dropout raises one alert, pauses supply to that node, and burns no attempt.
#[test]
fn a_mass_dropout_pauses_and_burns_nothing() {
    let server = Server::with(&[("MUSTER_NODES__DROPOUT_PAUSE_S", "1.5")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 12);
    let other = FakeNode::enrolled(server.node(), "PC-02", 1);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}, "max_attempts": 1}));
    let jobs = node.jobs(11);
    report(&node, &node.devices[10..]);
    let alerts = server.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!((&alerts[0]["kind"], &alerts[0]["pc_id"]), (&json!("mass_dropout"), &json!("PC-01")));
    for job in &jobs[..10] {
        node.tell(&Event::failed("PC-01", job, "adb_offline"));
    }
    node.succeed(&jobs[10]);
    assert_eq!(server.why("node", "PC-01"), "supply_paused");
    assert!(server.pc("PC-01")["paused_until"].is_i64());
    report(&node, &node.devices);
    assert_eq!(other.jobs(1).len(), 1, "the other node is supplied");
    let mut done = 1;
    until("every device is served after the pause", || {
        for job in node.jobs(20) {
            node.succeed(&job);
            done += 1;
        }
        (done == 12).then_some(())
    });
    assert_eq!(server.alerts().len(), 1);
    let failed = "SELECT count(*) FROM task_devices WHERE status = 'failed'";
    assert_eq!(server.database().count(failed), 0);
    assert_eq!(server.database().count("SELECT count(*) FROM devices WHERE failed = 1"), 0);
    assert_eq!(server.rows(&run).iter().filter(|row| row["status"] == "completed").count(), 12);
}

/// N17: a fifth and at least three make a mass; two do not, and the bounds are settings.
#[test]
fn a_mass_is_a_share_or_a_number() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 4);
    report(&node, &node.devices[2..]);
    assert_eq!(server.alerts().len(), 0, "two are no mass");
    report(&node, &node.devices[3..]);
    assert_eq!(server.alerts().len(), 1, "three of four within the window");
    let server =
        Server::with(&[("MUSTER_NODES__DROPOUT_PERCENT", "100"), ("MUSTER_NODES__DROPOUT_DEVICES", "5")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 20);
    report(&node, &node.devices[4..]);
    assert_eq!(server.alerts().len(), 0);
    report(&node, &node.devices[5..]);
    assert_eq!(server.alerts().len(), 1);
}
