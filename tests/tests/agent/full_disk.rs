//! A disk without room.

use crate::{
    SHIPPED,
    backend::{Backend, PULL, job},
    outage::WHOLE,
    shown,
};
use muster_tests::{AgentSetup, SmallDisk, until};
use serde_json::{Value, json};
use std::collections::BTreeMap;

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
    until("the beginning", || (agent.status()["state"] == "ok").then_some(()));
    disk.fill();
    // Reports are some kilobytes long by these names: all of them are far more than what is reserved.
    for number in 0..TASKS {
        let task = format!("{number:0>1000}");
        let mut job = job(&task, &task, SHIPPED);
        job["params"] = json!({"simulate": {"step_ms": 2}});
        backend.offer(job);
    }
    let queued = |status: &Value| usize::try_from(status["queued"].as_u64().unwrap()).unwrap();
    let status =
        until("a full spool", || Some(agent.status()).filter(|status| status["state"] == "spool full"));
    // Jobs on their way from there to here are in neither number.
    let open = backend.left() + queued(&status);
    assert!(open > 0, "all tasks found room");
    until("the end of what runs", || (agent.status()["running"] == 0).then_some(()));
    wait_for_rest(&backend);
    let status = agent.status();
    assert_eq!((&status["state"], &status["running"]), (&json!("spool full"), &json!(0)));
    assert!(backend.left() + queued(&status) >= open, "tasks are begun on a full disk");

    disk.free();
    until("the end", || {
        let status = agent.status();
        let open = [&status["spooled"], &status["queued"], &status["running"]];
        (backend.left() == 0 && open.iter().all(|count| **count == 0)).then_some(())
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
    until("a pull for nothing", || (asked() > before).then_some(()));
}

const TASKS: usize = 200;
