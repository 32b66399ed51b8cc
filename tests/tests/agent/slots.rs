//! How many tasks run at once, and where.

use crate::{
    SHIPPED,
    backend::{Backend, job},
    counts, ended, enrolled, entered, fields, submit,
    workshop::{Workshop, step},
};
use muster_tests::{AgentSetup, Server, until};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// N18, I11: a run over simulated devices ends well; the node's own times show never more tasks at once than slots.
#[test]
fn a_run_over_simulated_devices_ends_well() {
    let server = Server::start();
    let setup = AgentSetup::of(&server, "PC-01").devices("simulated:12").args(&["--slots", "4"]);
    let agent = setup.start();
    enrolled(&server, "PC-01", 12);
    let run = submit(&server, SHIPPED, json!({}));
    assert_eq!(counts(&ended(&server, &run)), (12, 0));
    until("an empty spool", || (agent.status()["spooled"] == 0).then_some(()));

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

/// N18: each device has a line of its own; a free slot goes to the device that has waited longest, not to the oldest task.
#[test]
fn devices_take_turns() {
    let workshop = Workshop::new(&["a", "b", "c"])
        .workflow("work_v1", &step("WORK", &["sh", "-c", "until [ -e @/go ]; do sleep 0.02; done"]));
    let backend = Backend::start();
    let setup = AgentSetup::new(&backend.url(), "PC-01").args(&["--slots", "2"]);
    let agent = workshop.equip(setup).start();
    // Two run, and as many wait for a slot or their device.
    for (task, running, queued) in [("a1", 1, 0), ("a2", 1, 1), ("b1", 2, 1), ("c1", 2, 2)] {
        backend.offer(job(task, &task[..1], "work_v1"));
        let status = || (agent.status()["running"].clone(), agent.status()["queued"].clone());
        until(&format!("{task} is taken"), || (status() == (json!(running), json!(queued))).then_some(()));
    }
    workshop.write("go", "");
    backend.finished("a2");
    let mut begun: Vec<Value> = backend.events();
    begun.retain(|event| event["type"] == "task_started");
    // Events of different tasks may overtake each other on their way; they are numbered as they were written down.
    begun.sort_by_key(|event| {
        event["event_id"].as_str().unwrap().rsplit('/').next().unwrap().parse::<u64>().unwrap()
    });
    let begun: Vec<&Value> = begun.iter().map(|event| &event["payload"]["task_id"]).collect();
    assert_eq!(begun, ["a1", "b1", "c1", "a2"]);
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
