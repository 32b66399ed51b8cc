//! Tasks that are ended: by time, by an operator, by the death of the agent.

use crate::{
    backend::{Backend, job},
    counts, ended, enrolled, processes, submit, told,
    workshop::{Workshop, step, step_with},
};
use muster_tests::{AgentSetup, Server, until};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

/// Forks children, each in a session of its own, and waits for ever, in the first attempt; holds a lock of its device, as
/// do its children, and fails where it is held.
const STUBBORN: &str = "exec 9>@/lock-$MUSTER_DEVICE_ID
flock -n 9 || { echo \"$MUSTER_DEVICE_ID is taken\" >&2; exit 9; }
echo $MUSTER_ATTEMPT >>@/began
[ $MUSTER_ATTEMPT = 1 ] || exit 0
trap '' TERM HUP INT
setsid sleep 300 &
setsid sh -c 'trap \"\" TERM; setsid sleep 301 & sleep 302' &
sleep 303";

/// All that the program starts, itself and its guard included.
const FAMILY: usize = 6;

/// N18, N22: a step that took too long has really ended when that is told: nothing of it is left, in whatever session.
#[test]
fn nothing_is_left_of_a_step_that_took_too_long() {
    let workshop = workshop("timeoutMs = 4000");
    let backend = Backend::start();
    let _agent = workshop.equip(AgentSetup::new(&backend.url(), "PC-01")).args(&["--slots", "1"]).start();
    let task = format!("slow-{}", backend.url());
    backend.offer(job(&task, "d1", "work_v1"));
    wait_for_family(&task);
    let mut next = job("next", "d1", "work_v1");
    next["attempt"] = json!(2);
    backend.offer(next);
    let told = backend.finished(&task);
    assert_eq!(processes::of_attempt(&task, 1), Vec::<String>::new());
    assert_eq!(
        (&told["failure_reason"], &told["error_message"]),
        (&json!("unknown"), &json!("timeout: WORK took longer than 4000 ms"))
    );
    // Its slot and its device were free for another then, and not before: that one got the lock.
    assert_eq!(backend.finished("next")["status"], "succeeded");
    assert_eq!(workshop.lines("began", 2), ["1", "2"]);
}

/// N1, N18: a run that is cancelled ends its programs, and its device takes the next task at once.
#[test]
fn nothing_is_left_of_a_cancelled_run() {
    let workshop = workshop("timeoutMs = 60000")
        .workflow("next_v1", &step("WORK", &["flock", "-n", "@/lock-d1", "true"]));
    let server = Server::start();
    let agent = workshop.equip(AgentSetup::of(&server, "PC-01")).start();
    enrolled(&server, "PC-01", 1);
    let run = submit(&server, "work_v1", json!({}));
    let task =
        until("the task", || server.rows(&run).first().map(|row| row["id"].as_str().unwrap().to_owned()));
    wait_for_family(&task);
    let _ = server.admin().post(&format!("/api/runs/{run}/cancel"), &json!({})).expect(200);
    let next = submit(&server, "next_v1", json!({}));
    assert_eq!(counts(&ended(&server, &next)), (1, 0), "{}", agent.log());
    assert_eq!(processes::of_attempt(&task, 1), Vec::<String>::new());
    until("the cancelled task's end", || {
        told(&server, &task).contains(&"task_finished failed".to_owned()).then_some(())
    });
    assert_eq!(server.run(&run)["status"], "cancelled");
}

/// N1: a job that a backend takes back before its turn is never begun, and told of.
#[test]
fn a_job_can_be_taken_back() {
    let workshop = workshop("timeoutMs = 60000");
    let backend = Backend::start();
    let agent = workshop.equip(AgentSetup::new(&backend.url(), "PC-01")).start();
    let task = format!("first-{}", backend.url());
    backend.offer(job(&task, "d1", "work_v1"));
    backend.offer(job("second", "d1", "work_v1"));
    until("the second in line", || (agent.status()["queued"] == 1).then_some(()));
    wait_for_family(&task);
    backend.stop("second");
    assert_eq!(backend.finished("second")["error_message"], "stopped before it began");
    backend.stop(&task);
    assert_eq!(backend.finished(&task)["error_message"], "stopped on request");
    assert_eq!(processes::of_attempt(&task, 1), Vec::<String>::new());
    assert_eq!(workshop.lines("began", 1), ["1"]);
}

/// N18, N22b: after `kill -9` nothing of a task is left when the agent is up again; the task is told as failed, once, and
/// its next attempt finds the device free.
#[test]
fn nothing_is_left_of_a_crash() {
    let workshop = workshop("timeoutMs = 60000");
    let server = Server::start();
    let mut agent = workshop.equip(AgentSetup::of(&server, "PC-01")).start();
    enrolled(&server, "PC-01", 1);
    let run = submit(&server, "work_v1", json!({}));
    let task =
        until("the task", || server.rows(&run).first().map(|row| row["id"].as_str().unwrap().to_owned()));
    wait_for_family(&task);
    agent.kill9();
    agent.restart();
    assert_eq!(processes::of_attempt(&task, 1), Vec::<String>::new());
    assert_eq!(counts(&ended(&server, &run)), (1, 0));
    assert_eq!(workshop.lines("began", 2), ["1", "2"]);
    let finished = crate::entered(&server, "task_finished");
    let told: Vec<_> =
        finished.iter().map(crate::fields).map(|told| (&told["attempt"], &told["error_message"])).collect();
    assert_eq!(told, [(&json!(1), &json!("agent restarted")), (&json!(2), &Value::Null)]);
    assert_eq!(crate::fields(&finished[0])["failure_reason"], "unknown");
}

/// N18, N22b: guards hold a lock while they are there; the next life of the agent does nothing before it is free.
#[test]
fn a_restart_waits_for_slow_guards() {
    let backend = Backend::start();
    let mut agent = AgentSetup::new(&backend.url(), "PC-01").start();
    agent.kill9();
    let path = agent.spool().join("guards.lock");
    let (slow_guard, file) = (File::open(&path).unwrap(), fs::metadata(&path).unwrap().ino());
    slow_guard.lock_shared().unwrap();
    let is_up = AtomicBool::new(false);
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let seen = || is_awaited(file) || is_up.load(Ordering::SeqCst);
            until("the agent waits or is up", || seen().then_some(()));
            drop(slow_guard);
            !is_up.load(Ordering::SeqCst)
        });
        agent.restart();
        is_up.store(true, Ordering::SeqCst);
        assert!(waits.join().unwrap(), "it did not wait");
    });
}

/// Whether somebody waits for the lock on a file.
fn is_awaited(file: u64) -> bool {
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| line.contains("->") && line.contains(&format!(":{file} ")))
}

fn workshop(keys: &str) -> Workshop {
    Workshop::new(&["d1"]).workflow("work_v1", &step_with("WORK", &["bash", "-c", STUBBORN], keys))
}

fn wait_for_family(task: &str) {
    until("all of the program", || (processes::of_attempt(task, 1).len() >= FAMILY).then_some(()));
}
