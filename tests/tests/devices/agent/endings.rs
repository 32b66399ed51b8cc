//! Programs end for certain, and devices take turns in the slots (N18).

use crate::agent::{
    Backend, SHIPPED, counts, ended, enrolled, entered, fields, job, submit, told,
    workflows::{Workshop, step, step_with},
};
use muster_tests::{AgentSetup, Server, until, wait_until};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
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
    let workshop = workshop("timeoutMs = 10000");
    let backend = Backend::start();
    let _agent = workshop.equip(AgentSetup::new(&backend.url(), "PC-01")).args(&["--slots", "1"]).start();
    let task = format!("slow-{}", backend.url());
    backend.offer(job(&task, "d1", "work_v1"));
    wait_for_family(&task);
    let mut next = job("next", "d1", "work_v1");
    next["attempt"] = json!(2);
    backend.offer(next);
    let told = backend.finished(&task);
    assert_eq!(of_attempt(&task, 1), Vec::<String>::new());
    assert_eq!(
        (&told["failure_reason"], &told["error_message"]),
        (&json!("unknown"), &json!("timeout: WORK took longer than 10000 ms"))
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
    server.cancel(&run);
    let next = submit(&server, "next_v1", json!({}));
    assert_eq!(counts(&ended(&server, &next)), (1, 0), "{}", agent.log());
    assert_eq!(of_attempt(&task, 1), Vec::<String>::new());
    wait_until("the cancelled task's end", || {
        told(&server, &task).contains(&"task_finished failed".to_owned())
    });
    assert_eq!(server.run(&run)["status"], "cancelled");
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
    agent.kill9_and_restart();
    assert_eq!(of_attempt(&task, 1), Vec::<String>::new());
    assert_eq!(counts(&ended(&server, &run)), (1, 0));
    assert_eq!(workshop.lines("began", 2), ["1", "2"]);
    let finished = entered(&server, "task_finished");
    let told: Vec<_> =
        finished.iter().map(fields).map(|told| (&told["attempt"], &told["error_message"])).collect();
    assert_eq!(told, [(&json!(1), &json!("agent restarted")), (&json!(2), &Value::Null)]);
    assert_eq!(fields(&finished[0])["failure_reason"], "unknown");
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
            wait_until("the agent waits or is up", seen);
            drop(slow_guard);
            !is_up.load(Ordering::SeqCst)
        });
        agent.restart();
        is_up.store(true, Ordering::SeqCst);
        assert!(waits.join().unwrap(), "it did not wait");
    });
}

/// True if somebody waits for the lock on a file.
fn is_awaited(file: u64) -> bool {
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().any(|line| line.contains("->") && line.contains(&format!(":{file} ")))
}

fn workshop(keys: &str) -> Workshop {
    Workshop::new(&["d1"]).workflow("work_v1", &step_with("WORK", &["bash", "-c", STUBBORN], keys))
}

fn wait_for_family(task: &str) {
    wait_until("all of the program", || of_attempt(task, 1).len() >= FAMILY);
}

/// The command lines of everything that runs with the environment of an attempt of a task, its guard included.
///
/// A program may fork, `setsid` and change its name: its environment goes with it.
pub(crate) fn of_attempt(task: &str, attempt: u32) -> Vec<String> {
    let (task, attempt) = (format!("MUSTER_TASK_ID={task}"), format!("MUSTER_ATTEMPT={attempt}"));
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        // A process that has ended meanwhile has no environment any more, and neither has one that is not reaped yet.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let has =
            |variable: &str| environment.split(|byte| *byte == 0).any(|found| found == variable.as_bytes());
        if has(&task) && has(&attempt) {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}

/// N18, I11: a run over simulated devices ends well; the node's own times show never more tasks at once than slots.
#[test]
fn a_run_over_simulated_devices_ends_well() {
    let server = Server::start();
    let setup = AgentSetup::of(&server, "PC-01").devices("simulated:12").args(&["--slots", "4"]);
    let agent = setup.start();
    enrolled(&server, "PC-01", 12);
    // Steps that take a while, so that a full house is seen on any machine.
    let run = submit(&server, SHIPPED, json!({"simulate": {"step_ms": 200}}));
    assert_eq!(counts(&ended(&server, &run)), (12, 0));
    agent.wait_for_empty_spool();

    let moment = |begins: bool| {
        move |event: Value| {
            let told = fields(&event);
            (told["timestamp"].as_i64().unwrap(), begins, told["device_id"].to_string())
        }
    };
    let begins = entered(&server, "task_started").into_iter().map(moment(true));
    let ends = entered(&server, "task_finished").into_iter().map(moment(false));
    let mut moments: Vec<_> = begins.chain(ends).collect();
    // An end comes before a beginning in the same millisecond.
    moments.sort();
    assert_eq!(moments.len(), 24);
    assert_eq!(most_at_once(moments.into_iter().map(|(_, begins, device)| (begins, device))), 4);
    let finished = entered(&server, "run_finished");
    assert_eq!(finished.len(), 1);
    assert_eq!(fields(&finished[0])["summary"], json!({"succeeded": 12, "failed": 0, "timeout": 0}));
    assert_eq!(server.alerts(), Vec::<Value>::new());
    assert_eq!(agent.get("/healthz").text(), "ok");
}

/// N18: what programs themselves saw: as many at once as there are slots, never two on a device.
#[test]
fn programs_never_share_a_device() {
    let devices = ["d1", "d2", "d3", "d4", "d5"];
    let log = "echo \"$1 $MUSTER_DEVICE_ID\" >>@/log";
    let workshop = Workshop::new(&devices).workflow(
        "work_v1",
        &[
            step("BEGIN", &["sh", "-c", log, "sh", "+"]),
            step("WORK", &["sleep", "0.1"]),
            step("END", &["sh", "-c", log, "sh", "-"]),
        ]
        .concat(),
    );
    let server = Server::start();
    let _agent = workshop.equip(AgentSetup::of(&server, "PC-01")).args(&["--slots", "3"]).start();
    enrolled(&server, "PC-01", 5);
    let runs = [(); 3].map(|()| submit(&server, "work_v1", json!({})));
    for run in &runs {
        assert_eq!(counts(&ended(&server, run)), (5, 0));
    }
    let lines = workshop.lines("log", 30);
    let moments = lines.iter().map(|line| {
        let (sign, device) = line.split_once(' ').unwrap();
        (sign == "+", device.to_owned())
    });
    let most = most_at_once(moments);
    assert!((2..=3).contains(&most), "{most} at once");
}

/// The most that ran at once; no device may run twice.
fn most_at_once(moments: impl Iterator<Item = (bool, String)>) -> usize {
    let (mut running, mut most) = (BTreeSet::new(), 0);
    for (begins, device) in moments {
        let changed = if begins { running.insert(device.clone()) } else { running.remove(&device) };
        assert!(changed, "{device} runs twice, or ended without a beginning");
        most = most.max(running.len());
    }
    most
}
