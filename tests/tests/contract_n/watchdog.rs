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

fn report(node: &FakeNode, devices: &[String]) {
    let device = |id: &String| json!({"device_id": id, "status": "online"});
    let devices: Value = devices.iter().map(device).collect();
    let _ = node.ask(&json!({"node_id": node.name, "max_jobs": 0, "devices": devices})).expect(200);
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
