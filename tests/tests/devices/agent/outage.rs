//! Outages, a full disk and a damaged spool: reports arrive once and in order (N19, N20).

use crate::agent::{
    Backend, CALLBACK, NO_ANSWER, PULL, SHIPPED, counts, ended, enrolled, job, newest_segment, on_disk,
    shown, submit, told,
};
use muster_tests::{Agent, AgentSetup, Server, SmallDisk, until, wait_until};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    path::Path,
};

/// Events of a node for a task that went through the shipped workflow.
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
    let run = submit(&server, SHIPPED, json!({"simulate": {"step_ms": 1000}}));
    wait_until("three tasks at work", || agent.status()["running"] == 3);
    server.kill9();
    wait_until("three ends on disk", || on_disk(&agent, "task_finished") == 3);
    wait_until("no answer", || agent.status()["state"] == "no answer");
    let waiting = agent.status()["spooled"].as_u64().unwrap();
    assert!((3..=40).contains(&waiting), "{waiting}");
    agent.kill9_and_restart();
    assert_eq!(agent.status()["spooled"], waiting, "{}", agent.log());

    server.restart();
    assert_eq!(counts(&ended(&server, &run)), (3, 0));
    every_report_came_once(&server, &agent, &run);
}

/// Everything was told of the first attempt of each row, in order and once, and nothing is left to tell.
fn every_report_came_once(server: &Server, agent: &Agent, run: &str) {
    for row in server.rows(run) {
        assert_eq!(told(server, row["id"].as_str().unwrap()), WHOLE);
        assert_eq!(row["attempt"], 1);
    }
    agent.wait_for_empty_spool();
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
        wait_until(&format!("{done} devices"), || so_far() >= done);
        server.kill9_and_restart();
    }
    assert_eq!(counts(&ended(&server, &run)), (30, 0));
    every_report_came_once(&server, &agent, &run);
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

/// N19: on a full disk nothing new is begun, what runs goes on, and the status says so; with room again everything ends
/// well, and every report arrives once and in order.
#[test]
fn a_full_disk_holds_up_nothing_but_new_tasks() {
    // Room for two segments, and not much more.
    let Some(disk) = SmallDisk::mount(12) else {
        eprintln!("skipped: only root can mount a small disk");
        return;
    };
    let backend = Backend::start();
    let agent = AgentSetup::new(&backend.url(), "PC-01").spool(&disk.path().join("spool")).start();
    wait_until("the beginning", || agent.status()["state"] == "ok");
    disk.fill();
    // Reports are some kilobytes long by these names: all of them are far more than what is reserved.
    for number in 0..TASKS {
        let task = format!("{number:0>1000}");
        let mut job = job(&task, &task, SHIPPED);
        job["params"] = json!({"simulate": {"step_ms": 2}});
        backend.offer(job);
    }
    let queued = |status: &Value| usize::try_from(status["queued"].as_u64().unwrap()).unwrap();
    let full = || Some(agent.status()).filter(|status| status["state"] == "spool full");
    // The disk may have room for a last small entry, so the spool may be full more than once.
    let (open, status) = until("a spool that stays full", || {
        // Jobs on their way from there to here are in neither number.
        let open = backend.left() + queued(&full()?);
        wait_until("the end of what runs", || agent.status()["running"] == 0);
        wait_for_rest(&backend);
        Some((open, full()?))
    });
    assert!(open > 0, "all tasks found room");
    assert_eq!(status["running"], 0);
    assert!(backend.left() + queued(&status) >= open, "tasks are begun on a full disk");

    disk.free();
    wait_until("the end", || {
        let status = agent.status();
        let open = [&status["spooled"], &status["queued"], &status["running"]];
        backend.left() == 0 && open.iter().all(|count| **count == 0)
    });
    assert_eq!(agent.status()["state"], "ok");
    let mut told: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for event in backend.events() {
        let task = event["payload"]["task_id"].as_str().unwrap().to_owned();
        told.entry(task).or_default().push(shown(&event));
    }
    assert_eq!(told.len(), TASKS);
    assert!(told.values().all(|told| *told == WHOLE), "{told:?}");
}

/// Waits until the agent has once more asked for nothing, which it does every few seconds.
fn wait_for_rest(backend: &Backend) {
    let asked = || backend.heard(PULL).iter().filter(|heard| heard.body["max_jobs"] == 0).count();
    let before = asked();
    wait_until("a pull for nothing", || asked() > before);
}

const TASKS: usize = 200;

/// N13, N19: an event that is refused for good is set aside for a person and holds up nobody; its task is ended, because
/// whoever does not take its reports does not want it.
#[test]
fn a_refused_event_is_set_aside() {
    let backend = Backend::start();
    backend.rule(|path, body| {
        let is_it =
            path == CALLBACK && body["payload"]["task_id"] == "bad" && body["payload"]["step"] == "BOOTSTRAP";
        is_it.then(|| (404, json!({"title": "Not Found", "detail": "no task bad"})))
    });
    let agent = AgentSetup::new(&backend.url(), "PC-01").devices("simulated:2").start();
    let mut bad = job("bad", "sim-0001", SHIPPED);
    bad["params"] = json!({"simulate": {"hang_step": "LOGIN_FLOW"}});
    backend.offer(bad);
    backend.offer(job("good", "sim-0002", SHIPPED));
    assert_eq!(backend.finished("good")["status"], "succeeded");
    let told = backend.finished("bad");
    assert_eq!((&told["status"], &told["failure_reason"]), (&json!("failed"), &json!("callback_error")));
    assert_eq!(told["error_message"], "the backend refused it with 404: no task bad");

    let aside = until("what was set aside", || Some(agent.aside()).filter(|aside| !aside.is_empty()));
    assert!(aside.iter().all(|row| row["why"] == "404 no task bad"), "{aside:?}");
    let events: Vec<_> = aside.iter().map(|row| shown(&row["event"])).collect();
    assert_eq!(events[0], "BOOTSTRAP running");
    assert!(agent.log().contains("refused an event for good"), "{}", agent.log());
    // The device is free again.
    backend.offer(job("next", "sim-0001", SHIPPED));
    assert_eq!(backend.finished("next")["status"], "succeeded");
    agent.wait_for_empty_spool();
}

/// N19: whatever a crash left at the end of the newest segment is cut, with a word about it, and nothing before it is lost.
#[test]
fn a_torn_end_is_cut() {
    let tears: [(fn(&Path), _, _); 2] =
        [(append_garbage, "succeeded", ""), (cut_the_last_record, "failed", "agent restarted")];
    for (tear, status, error) in tears {
        let backend = Backend::start();
        backend.rule(|path, _| (path == CALLBACK).then(|| (503, json!({}))));
        let mut agent = AgentSetup::new(&backend.url(), "PC-01").start();
        backend.offer(job("t1", "sim-0001", SHIPPED));
        // Nothing is taken, so everything stays there.
        wait_until("the end on disk", || on_disk(&agent, "task_finished") == 1);
        agent.kill9();
        tear(&newest_segment(&agent.spool()));
        backend.rule(|path, _| (path == CALLBACK).then(|| (200, json!({"ok": true}))));
        agent.restart();
        assert!(agent.log().contains("cut a torn end off the spool"), "{}", agent.log());
        let told = backend.finished("t1");
        // An end that was torn off never left: what it ended was interrupted.
        assert_eq!(told["status"], status);
        assert_eq!(told["error_message"].as_str().unwrap_or_default(), error);
        let events: Vec<_> = backend.events_of("t1").iter().map(shown).collect();
        assert_eq!(events[..11], WHOLE[..11]);
        agent.wait_for_empty_spool();
        assert_eq!(backend.events_of("t1").len(), 12);
    }
}

/// N19: a spool belongs to one agent; a second one is turned away and harms nothing.
#[test]
fn a_spool_has_one_agent() {
    let backend = Backend::start();
    let setup = AgentSetup::new(&backend.url(), "PC-01");
    let agent = setup.clone().start();
    let refused = setup.spool(&agent.spool()).output();
    refused.refused(1, agent.spool().to_str().unwrap());
    let complaint = refused.stderr;
    assert!(complaint.contains("another agent") || complaint.contains("in use"), "{complaint}");
    backend.offer(job("t1", "sim-0001", SHIPPED));
    assert_eq!(backend.finished("t1")["status"], "succeeded");
}

fn append_garbage(segment: &Path) {
    let end = written(segment);
    let file = OpenOptions::new().write(true).open(segment).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"half a record", end).unwrap();
}

fn cut_the_last_record(segment: &Path) {
    let file = OpenOptions::new().write(true).open(segment).unwrap();
    file.set_len(written(segment) - 1).unwrap();
}

/// Length of a segment's content; reserved zeros follow it.
fn written(segment: &Path) -> u64 {
    let bytes = fs::read(segment).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1
}
