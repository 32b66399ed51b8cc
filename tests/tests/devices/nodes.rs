//! Contract N over kill -9, restarts and real time: N1 to N17.

use crate::{run, texts};
use muster_tests::{Client, Event, FAILURE_REASONS, FakeNode, Request, Server, now_ms, until};
use serde_json::{Value, json};
use std::thread;

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

/// N2, N1b: a job never confirmed comes again to the same node: same ids, same attempt, same clock; so does its run.
#[test]
fn an_unconfirmed_job_comes_again() {
    let mut server = Server::with(&[("MUSTER_NODES__REDELIVER_AFTER_S", "0.2")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let first = node.pull(5);
    let job = &first["jobs"][0];
    let timeout_at = server.rows(&run)[0]["timeout_at"].clone();
    for restart in [false, true, false] {
        if restart {
            server.kill9();
            server.restart();
        }
        let again = until("the job comes again", || {
            let answer = node.pull(5);
            (answer["jobs"] != json!([])).then_some(answer)
        });
        assert_eq!(again["runs"], first["runs"]);
        for key in ["task_id", "run_id", "device_id", "attempt", "params"] {
            assert_eq!(again["jobs"][0][key], job[key], "{key}");
        }
        assert_eq!(again["jobs"][0]["lease"]["token"], job["lease"]["token"]);
    }
    assert_eq!(server.rows(&run)[0]["timeout_at"], timeout_at, "redelivery does not restart the clock");
    let sent = |entries: Vec<(u64, String)>| entries.into_iter().filter(|(_, word)| word == "SENT").count();
    assert_eq!(sent(server.history(job["task_id"].as_str().unwrap())), 1);
    assert_eq!(FakeNode::enrolled(server.node(), "PC-02", 1).jobs(5)[0]["device_id"], "PC-02-d1");
}

fn pull(client: &Client, node: &str) -> u16 {
    client.post("/api/nodes/pull", &json!({"node_id": node, "max_jobs": 0})).status
}

fn beat(client: &Client, node: &str) -> u16 {
    client.post("/api/nodes/callback", &Event::heartbeat(node).nested()).status
}

/// N3: a missing or wrong secret is refused with 401, and nothing is recorded.
#[test]
fn without_the_secret_nothing_is_recorded() {
    let server = Server::start();
    let secret = server.node_secret();
    let half = &secret[..secret.len() - 1];
    let longer = format!("{secret}x");
    for wrong in ["", "x", half, &longer, "ÿ", &"x".repeat(5000)] {
        assert_eq!(pull(&server.anonymous().with_token(wrong), "PC-01"), 401, "{wrong:.20}");
        assert_eq!(beat(&server.anonymous().with_token(wrong), "PC-01"), 401, "{wrong:.20}");
    }
    assert_eq!(pull(&server.anonymous(), "PC-01"), 401);
    let other_scheme =
        Request::new("POST", "/api/nodes/callback").header("authorization", &format!("Basic {secret}"));
    let answer = server.anonymous().send(other_scheme.json(&Event::heartbeat("PC-01").nested()));
    let _ = answer.problem(401);
    assert!(answer.header("www-authenticate").is_some());
    let in_apikey = Request::new("GET", "/api/nodes/pull?node_id=PC-01").header("apikey", &secret);
    let _ = server.anonymous().send(in_apikey).problem(401);
    assert_eq!(server.database().count("SELECT count(*) FROM pcs"), 0);
    assert_eq!(server.database().count("SELECT count(*) FROM node_events"), 0);
    assert_eq!(pull(&server.node(), "PC-01"), 200);
}

/// N3, Q15: a node's own secret speaks for that node only; the old one works on for a while beside the new.
#[test]
fn a_secret_of_its_own_speaks_for_one_node() {
    let mut server = Server::with(&[("MUSTER_NODES__SECRET_OVERLAP_S", "3600")]);
    for name in ["PC-01", "PC-02"] {
        let _ = FakeNode::enrolled(server.node(), name, 1);
    }
    let rotate = |server: &Server| {
        let answer = server.admin().post("/api/nodes/PC-01/secret", &json!({})).expect(200);
        assert_eq!(answer["node_id"], "PC-01");
        server.anonymous().with_token(answer["secret"].as_str().unwrap())
    };
    let first = rotate(&server);
    let second = rotate(&server);
    server.kill9();
    server.restart();
    for own in [&first, &second] {
        assert_eq!((pull(own, "PC-01"), beat(own, "PC-01")), (200, 200));
        assert_eq!((pull(own, "PC-02"), beat(own, "PC-02")), (401, 401), "another node's name");
        assert_eq!(own.get("/api/nodes/pull?node_id=PC-02").status, 401);
        assert_eq!(own.get("/api/pcs").status, 403);
    }
    assert_eq!(
        (pull(&server.node(), "PC-01"), pull(&server.node(), "PC-02")),
        (200, 200),
        "the shared one too"
    );
    let _ = server.admin().post("/api/nodes/PC-77/secret", &json!({})).problem(404);
}

/// N3: after the overlap the old secret is a wrong one.
#[test]
fn an_old_secret_ends_with_the_overlap() {
    let server = Server::with(&[("MUSTER_NODES__SECRET_OVERLAP_S", "0.3")]);
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let rotate = || {
        let answer = server.admin().post("/api/nodes/PC-01/secret", &json!({})).expect(200);
        server.anonymous().with_token(answer["secret"].as_str().unwrap())
    };
    let (old, new) = (rotate(), rotate());
    until("the old secret ends", || (pull(&old, "PC-01") == 401).then_some(()));
    assert_eq!(pull(&new, "PC-01"), 200);
    let kept = server.database().column("SELECT hex(sha256) FROM pc_secrets");
    assert!(kept.iter().all(|hash| hash.len() == 64), "only hashes are kept");
}

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
