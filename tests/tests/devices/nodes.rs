//! Contract N over kill -9, restarts and real time: N1 to N17.

use crate::{run, texts};
use muster_tests::{Client, Event, FakeNode, Server, now_ms, until, wait_until};
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
    server.kill9_and_restart();
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

/// N8, N5: a heartbeat writes no row of `node_events`, and the server forgets it when it is killed.
#[test]
fn a_heartbeat_is_kept_in_memory_only() {
    let mut server = Server::start();
    let node = FakeNode::new(server.node(), "PC-01", 0);
    let beat = Event::heartbeat("PC-01");
    assert_eq!(node.tell(&beat), json!({"ok": true}));
    assert_eq!(node.tell(&beat), json!({"ok": true, "duplicate": true}));
    assert_eq!(server.database().count("SELECT count(*) FROM node_events"), 0);
    server.kill9_and_restart();
    assert_eq!(node.tell(&beat), json!({"ok": true}), "remembered over a kill");
    assert_eq!(server.database().count("SELECT count(*) FROM node_events"), 0);
}

/// N1: one submission answers the waiting pulls of all nodes that it has work for.
#[test]
fn one_submission_answers_every_waiting_node() {
    let server = Server::start();
    let nodes: Vec<_> = (1..=5).map(|n| FakeNode::enrolled(server.node(), &format!("PC-0{n}"), 1)).collect();
    let answers: Vec<Value> = thread::scope(|scope| {
        let waiting: Vec<_> = nodes.iter().map(|node| scope.spawn(|| node.wait(1, 30_000))).collect();
        wait_until("all nodes wait", || {
            server.admin().get("/metrics").text().contains("muster_waiting_pulls 5\n")
        });
        let _ = server.submit(&run());
        waiting.into_iter().map(|node| node.join().unwrap()).collect()
    });
    let submitted = server.database().count("SELECT created_at FROM tasks");
    for (node, answer) in nodes.iter().zip(&answers) {
        assert_eq!(answer["jobs"][0]["device_id"], node.devices[0]);
        let late_ms = answer["now"].as_i64().unwrap() - submitted;
        assert!(late_ms < 15_000, "{} was answered {late_ms} ms after the submission", node.name);
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
    server.cancel(&run);
    let task = job["task_id"].as_str().unwrap();
    assert_eq!(texts(&node.pull(0)["stop"]), [task]);
    server.kill9_and_restart();
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
            server.kill9_and_restart();
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

/// N3, Q15: a node's own secret speaks for that node only; the old one works on for a while beside the new, and is a wrong one
/// then. Only hashes are kept.
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
    let (first, second) = (rotate(&server), rotate(&server));
    server.kill9_and_restart();
    for own in [&first, &second] {
        assert_eq!((pull(own, "PC-01"), beat(own, "PC-01")), (200, 200));
        assert_eq!((pull(own, "PC-02"), beat(own, "PC-02")), (401, 401), "another node's name");
        assert_eq!(own.get("/api/pcs").status, 403);
    }
    assert_eq!(pull(&server.node(), "PC-01"), 200, "the shared one too");
    server.set("MUSTER_NODES__SECRET_OVERLAP_S", "0.3");
    server.kill9_and_restart();
    let third = rotate(&server);
    wait_until("the old secret ends", || pull(&second, "PC-01") == 401);
    assert_eq!(pull(&third, "PC-01"), 200);
    let kept = server.database().column("SELECT hex(sha256) FROM pc_secrets");
    assert!(kept.iter().all(|hash| hash.len() == 64), "{kept:?}");
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

/// History of the node, without a silence that may have begun meanwhile.
fn before_it_fell_silent(server: &Server) -> Vec<String> {
    life(server).into_iter().skip_while(|word| word == "offline").collect()
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
    assert_eq!(before_it_fell_silent(&server)[..2], ["online", "offline"]);
    until("it is offline again", || is_offline(&server));
    let before = life(&server).len();
    let _ = node.pull(0);
    let words = before_it_fell_silent(&server);
    assert!(words.len() > before && words[0] == "online", "{words:?}");
}

/// N8c: a node that pulls but sends no heartbeat stays online, is shown as late everywhere, and raises one alert; its next
/// heartbeat ends that.
#[test]
fn a_missing_heartbeat_is_shown() {
    let server = Server::with(&[("MUSTER_NODES__HEARTBEAT_S", "0.2")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let listed = || server.admin().get("/api/nodes").expect(200)["nodes"][0].clone();
    assert_eq!(listed()["node_id"], "PC-01", "listed before its first heartbeat");
    wait_until("the heartbeat is late", || {
        let _ = node.pull(0);
        listed()["heartbeat"] == "late"
    });
    assert_eq!((&listed()["status"], &server.pc("PC-01")["heartbeat"]), (&json!("online"), &json!("late")));
    let why = server.admin().get("/api/explain/node/PC-01").expect(200);
    assert_eq!(why["data"]["heartbeat"], "late", "{why}");
    assert!(why["sentence"].as_str().unwrap().contains("heartbeat has been late"), "{why}");
    let late: Vec<Value> =
        server.alerts().into_iter().filter(|alert| alert["kind"] == "heartbeat_late").collect();
    assert_eq!(late.len(), 1, "{late:?}");
    wait_until("a heartbeat is in time", || {
        node.tell(&Event::heartbeat("PC-01"));
        listed()["heartbeat"] == "ok"
    });
    let words = life(&server);
    let words: Vec<_> = words.iter().skip_while(|word| *word == "heartbeat_late").collect();
    assert_eq!(words[..2], ["heartbeat_back", "heartbeat_late"]);
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
