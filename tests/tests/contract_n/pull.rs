//! Pull: N1, N1b.

use crate::{run, texts};
use muster_tests::{Event, FakeNode, Server, until};
use serde_json::{Value, json};
use std::thread;

/// N1: the answer has exactly the contract's members, in its order, by POST and by GET.
#[test]
fn the_answer_is_the_contracts_letter_by_letter() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run_id =
        server.submit(&json!({"workflow_id": "w", "params": {"z": 1, "a": "é"}, "timeoutMs": 180_000}));
    let ask = json!({"node_id": "PC-01", "max_jobs": 1});
    let answer = node.ask(&ask);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let parsed = answer.expect(200);
    let job = &parsed["jobs"][0];
    let expected = format!(
        r#"{{"now":{},"runs":[{{"run_id":"{run_id}","workflow_id":"w","params":{{"a":"é","z":1}},"timeoutMs":180000,"target_devices_count":2,"max_concurrency":20}}],"jobs":[{{"task_id":{},"run_id":"{run_id}","device_id":"PC-01-d1","runtime_handle":"usb:PC-01-d1","workflow_id":"w","params":{{"a":"é","z":1}},"timeoutMs":180000,"attempt":1,"lease":{{"token":{},"until":{}}}}}],"finished_runs":[],"stop":[]}}"#,
        parsed["now"], job["task_id"], job["lease"]["token"], job["lease"]["until"]
    );
    assert_eq!(answer.text(), expected);
    assert!(job["lease"]["until"].as_i64() > parsed["now"].as_i64(), "{job}");

    let one = server.node().get("/api/nodes/pull?node_id=PC-01").expect(200);
    assert_eq!(one["runs"], json!([]), "announced before");
    assert_eq!(one["jobs"][0]["device_id"], "PC-01-d2");
    assert_eq!(one["jobs"].as_array().unwrap().len(), 1);
    let nothing = server.node().get("/api/nodes/pull?node_id=PC-01&wait_ms=1");
    let text = nothing.text();
    assert!(text.ends_with(r#","runs":[],"jobs":[],"finished_runs":[],"stop":[]}"#), "{text}");
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

/// N1: reported devices are enrolled, absent ones become offline, and no `devices` is no report.
#[test]
fn the_report_of_devices_is_taken() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let status = |device: &str| server.device(device)["status"].as_str().unwrap().to_owned();
    for device in &node.devices {
        assert_eq!(status(device), "ONLINE");
        assert_eq!(server.device(device)["pc_id"], "PC-01");
    }
    let less = json!([{"device_id": "PC-01-d1", "runtime_handle": "10.0.0.7:5555", "status": "online"}]);
    let _ = node.ask(&json!({"node_id": "PC-01", "max_jobs": 0, "devices": less})).expect(200);
    assert_eq!((status("PC-01-d1").as_str(), status("PC-01-d2").as_str()), ("ONLINE", "OFFLINE"));
    assert_eq!(server.device("PC-01-d1")["runtime_handle"], "10.0.0.7:5555");
    let _ = node.pull(0);
    assert_eq!(status("PC-01-d1"), "ONLINE", "no report");
    let _ = node.ask(&json!({"node_id": "PC-01", "max_jobs": 0, "devices": []})).expect(200);
    assert_eq!(status("PC-01-d1"), "OFFLINE");
}

/// N1b: `online` counts; the other words are kept and count as offline.
#[test]
fn only_online_devices_count() {
    let server = Server::start();
    let words = ["online", "offline", "unauthorized", "error"];
    let devices: Value = words.iter().map(|word| json!({"device_id": *word, "status": word})).collect();
    let node = FakeNode::new(server.node(), "PC-01", 0);
    let _ = node.ask(&json!({"node_id": "PC-01", "max_jobs": 0, "devices": devices})).expect(200);
    for word in words {
        let device = server.device(word);
        assert_eq!(device["attachment"], word);
        assert_eq!(device["status"], if word == "online" { "ONLINE" } else { "OFFLINE" });
    }
    let _ = server.submit(&run());
    let jobs = node.jobs(10);
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0]["device_id"], "online");
}

/// N1b: any authenticated pull or callback enrols an unknown node.
#[test]
fn an_unknown_node_is_enrolled_by_speaking() {
    let server = Server::start();
    let _ = FakeNode::new(server.node(), "PC-01", 0).pull(0);
    let _ = server.node().get("/api/nodes/pull?node_id=PC-02").expect(200);
    FakeNode::new(server.node(), "PC-03", 0).tell(&Event::heartbeat("PC-03"));
    let pcs = server.admin().get("/api/pcs").expect(200);
    let names: Vec<_> =
        pcs["pcs"].as_array().unwrap().iter().map(|pc| pc["pc_id"].as_str().unwrap()).collect();
    assert_eq!(names, ["PC-01", "PC-02", "PC-03"]);
}

/// N1b: a device reported by two nodes belongs to the last report, unless it has a live attempt.
#[test]
fn a_device_follows_the_last_report() {
    let server = Server::start();
    let one = FakeNode::enrolled(server.node(), "PC-01", 1);
    let two = FakeNode::enrolled(server.node(), "PC-02", 0);
    let moved = json!([{"device_id": "PC-01-d1", "runtime_handle": "x", "status": "online"}]);
    let report = |node: &FakeNode| {
        let _ = node.ask(&json!({"node_id": node.name, "max_jobs": 0, "devices": moved})).expect(200);
        server.device("PC-01-d1")["pc_id"].as_str().unwrap().to_owned()
    };
    assert_eq!(report(&two), "PC-02");
    assert_eq!(report(&one), "PC-01");
    let _ = server.submit(&run());
    let job = one.job();
    assert_eq!(report(&two), "PC-01", "it has a live attempt");
    one.succeed(&job);
    assert_eq!(report(&two), "PC-02");
}

/// N1b: `max_jobs` 0 is a mere report, and a longer wait than 30 s is shortened, not refused.
#[test]
fn zero_jobs_are_none_and_long_waits_are_clamped() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = server.submit(&run());
    assert_eq!(node.report()["jobs"], json!([]));
    let answer = node.wait(1, 9_000_000_000);
    assert_eq!(answer["jobs"].as_array().unwrap().len(), 1);
}

/// N1, N1b: `finished_runs` names a run that holds nothing more for the node, until its `run_finished`.
#[test]
fn a_finished_run_is_named_until_reported() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    node.succeed(&node.job());
    assert_eq!(texts(&node.pull(1)["finished_runs"]), [&run]);
    assert_eq!(texts(&node.pull(0)["finished_runs"]), [&run]);
    node.tell(&Event::run_finished("PC-01", &run, (1, 0)));
    assert_eq!(node.pull(1)["finished_runs"], json!([]));
    assert_eq!(server.alerts(), Vec::<Value>::new());
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

/// N1: a job superseded by a timeout while running is to be stopped as well.
#[test]
fn a_superseded_job_is_to_be_stopped() {
    let server = Server::with(&[("MUSTER_OPERATIONS__ATTEMPT_TIMEOUT_S", "0.3")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = server.submit(&json!({"workflow_id": "w", "params": {}, "max_attempts": 1}));
    let job = node.job();
    node.tell(&Event::started("PC-01", &job));
    let stop = until("the job is to be stopped", || {
        let stop = node.pull(0)["stop"].clone();
        (stop != json!([])).then_some(stop)
    });
    assert_eq!(stop, json!([job["task_id"]]));
    let late = node.tell(&Event::failed("PC-01", &job, "unknown"));
    assert_eq!(late, json!({"ok": true, "stale": true}));
    assert_eq!(node.pull(0)["stop"], json!([]));
}
