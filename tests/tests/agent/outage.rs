//! A backend that is away for a while.

use crate::{
    SHIPPED,
    backend::{Backend, CALLBACK, NO_ANSWER, job},
    counts, ended, enrolled, on_disk, shown, submit, told,
};
use muster_tests::{Agent, AgentSetup, Server, until};
use serde_json::{Value, json};

/// What a node tells of a task that went through the shipped workflow.
pub(crate) const WHOLE: [&str; 12] = [
    "task_started",
    "PREFLIGHT running",
    "PREFLIGHT done",
    "BOOTSTRAP running",
    "BOOTSTRAP done",
    "LOGIN_FLOW running",
    "LOGIN_FLOW done",
    "SCREENSHOT running",
    "SCREENSHOT done",
    "UPLOAD running",
    "UPLOAD done",
    "task_finished succeeded",
];

/// N19, N20: what ends while nobody listens waits in the spool, also over the agent's own death, and arrives once and in
/// order when the server is back.
#[test]
fn an_outage_costs_time_and_nothing_else() {
    let mut server = Server::with_fixed_port(&[]);
    let mut agent = Agent::start(&server, "PC-01", "simulated:3");
    enrolled(&server, "PC-01", 3);
    let run = submit(&server, SHIPPED, json!({"simulate": {"step_ms": 300}}));
    until("three tasks at work", || (agent.status()["running"] == 3).then_some(()));
    server.kill9();
    until("three ends on disk", || (on_disk(&agent, "task_finished") == 3).then_some(()));
    until("no answer", || (agent.status()["state"] == "no answer").then_some(()));
    let waiting = agent.status()["spooled"].as_u64().unwrap();
    assert!((3..=40).contains(&waiting), "{waiting}");
    agent.kill9();
    agent.restart();
    assert_eq!(agent.status()["spooled"], waiting, "{}", agent.log());

    server.restart();
    assert_eq!(counts(&ended(&server, &run)), (3, 0));
    for row in server.rows(&run) {
        assert_eq!(told(&server, row["id"].as_str().unwrap()), WHOLE);
        assert_eq!(row["attempt"], 1);
    }
    until("an empty spool", || (agent.status()["spooled"] == 0).then_some(()));
    assert_eq!((agent.aside(), server.alerts()), (vec![], vec![]));
}

/// N2, N19: a server that dies in the middle of a run and comes again counts every device once.
#[test]
fn a_run_goes_on_over_the_death_of_the_server() {
    let mut server = Server::with_fixed_port(&[("MUSTER_NODES__REDELIVER_AFTER_S", "1")]);
    let setup = AgentSetup::of(&server, "PC-01").devices("simulated:30").args(&["--slots", "5"]);
    let agent = setup.start();
    enrolled(&server, "PC-01", 30);
    let run = submit(&server, SHIPPED, json!({}));
    for done in [3, 12] {
        let so_far = || server.run(&run)["counts"]["completed"].as_u64().unwrap();
        until(&format!("{done} devices"), || (so_far() >= done).then_some(()));
        server.kill9();
        server.restart();
    }
    assert_eq!(counts(&ended(&server, &run)), (30, 0));
    for row in server.rows(&run) {
        assert_eq!(told(&server, row["id"].as_str().unwrap()), WHOLE);
        assert_eq!(row["attempt"], 1);
    }
    until("an empty spool", || (agent.status()["spooled"] == 0).then_some(()));
    assert_eq!((agent.aside(), server.alerts()), (vec![], vec![]));
}

/// N19, N20: whatever says "not now" is told again, with the same bytes, before anything later of the task.
#[test]
fn what_is_put_off_is_sent_again() {
    let backend = Backend::start();
    let mut put_off = vec![
        ("PREFLIGHT", NO_ANSWER),
        ("BOOTSTRAP", 503),
        ("LOGIN_FLOW", 401),
        ("SCREENSHOT", 429),
        ("UPLOAD", 408),
    ];
    backend.rule(move |path, body| {
        let is_it = |(step, _): &(&str, u16)| path == CALLBACK && body["payload"]["step"] == *step;
        let at = put_off.iter().position(is_it)?;
        Some((put_off.remove(at).1, json!({"title": "not now"})))
    });
    let _agent = AgentSetup::new(&backend.url(), "PC-01").start();
    backend.offer(job("t1", "sim-0001", SHIPPED));
    backend.finished("t1");
    let told: Vec<String> = backend.events_of("t1").iter().map(shown).collect();
    assert_eq!(told, WHOLE);
    let sent: Vec<Value> = backend.heard(CALLBACK).into_iter().map(|heard| heard.body).collect();
    for step in ["PREFLIGHT", "BOOTSTRAP", "LOGIN_FLOW", "SCREENSHOT", "UPLOAD"] {
        let sent: Vec<&Value> = sent.iter().filter(|body| body["payload"]["step"] == step).collect();
        assert_eq!((sent.len(), sent[0]), (3, sent[1]), "{step}");
    }
}

/// N8, N20: a heartbeat leaves at the start, with everything that contract wants of one.
#[test]
fn a_heartbeat_leaves_at_the_start() {
    let backend = Backend::start();
    let _agent = AgentSetup::new(&backend.url(), "PC-07").devices("simulated:3").start();
    let heartbeat = until("a heartbeat", || {
        let heard = backend.heard(CALLBACK);
        heard.into_iter().map(|heard| heard.body).find(|event| event["type"] == "node_heartbeat")
    });
    assert!(!heartbeat["event_id"].as_str().unwrap().is_empty());
    let told = &heartbeat["payload"];
    assert_eq!(told["node_id"], "PC-07");
    let now = muster_tests::now_ms();
    assert!(told["timestamp"].as_i64().unwrap().abs_diff(now) < 600_000, "{told}");
    for (key, count) in
        [("connected_devices_count", 3), ("running_devices_count", 0), ("queue_devices_count", 0)]
    {
        assert_eq!(told[key], count, "{key} in {told}");
    }
    assert_eq!((&told["vendor_ws_ok"], &told["degraded"]), (&json!(true), &json!(false)));
}
