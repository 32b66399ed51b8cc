//! The spool: what it keeps, what it puts aside, and how it bears torn ends, strangers and full disks.

use crate::{
    SHIPPED,
    backend::{Backend, CALLBACK, job},
    newest_segment, on_disk, shown,
};
use muster_tests::{AgentSetup, until};
use serde_json::json;
use std::{
    fs::{self, OpenOptions},
    path::Path,
};

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
    until("an empty spool", || (agent.status()["spooled"] == 0).then_some(()));
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
        until("the end on disk", || (on_disk(&agent, "task_finished") == 1).then_some(()));
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
        assert_eq!(events[..11], crate::outage::WHOLE[..11]);
        until("an empty spool", || (agent.status()["spooled"] == 0).then_some(()));
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
    let complaint = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains(agent.spool().to_str().unwrap()), "{complaint}");
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

/// How far a segment is filled: behind that are the zeros that were reserved.
fn written(segment: &Path) -> u64 {
    let bytes = fs::read(segment).unwrap();
    bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64 + 1
}
