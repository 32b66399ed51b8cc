//! Devices take turns, and what a device does is told in order.

use super::*;

/// N18: one task per device, so many at once, the next begins when a slot is free, devices in turn.
#[test]
fn devices_take_turns_and_never_run_two_tasks() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a r/2@a r/3@a r/4@b r/5@c");
    played.sync();
    let begun =
        |played: &Played| played.begun.iter().map(|work| work.job.task.to_string()).collect::<Vec<_>>();
    assert_eq!(begun(&played), ["1", "4"]);
    played.end(1, WELL);
    played.sync();
    assert_eq!(begun(&played), ["1", "4", "5"], "a and b are behind c now");
    played.end(2, WELL);
    played.sync();
    played.end(3, WELL);
    played.sync();
    assert_eq!(begun(&played), ["1", "4", "5", "2"], "3 is on the device of 2");
    assert_eq!(played.core.status().running, 1);
}

/// N18: a task that took too long keeps its slot and its device until nothing of it runs any more. N13: the running
/// step gives the reason.
#[test]
fn a_timed_out_task_frees_its_slot_when_it_is_gone() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    played.core.stepped(1, Progress { step: "LOGIN_FLOW", status: StepStatus::Running }, played.now);
    played.gather();
    played.pass(999);
    assert!(played.killed.is_empty());
    played.pass(1);
    assert_eq!((played.killed.as_slice(), played.begun.len()), ([1].as_slice(), 1));
    played.pass(60_000);
    assert_eq!((played.killed.len(), played.begun.len()), (1, 1));
    played.end(1, End::Stopped { reason: FailureReason::LoginFlowTimeout });
    played.sync();
    assert_eq!(played.begun.len(), 2);
    let told = "end 1#1 login_flow_timeout: timeout: the task took longer than 1000 ms, in LOGIN_FLOW";
    assert!(played.told().contains(&told.to_owned()), "{:?}", played.told());
}

/// N19: nothing is begun before its start is on disk, nothing is sent before it is.
#[test]
fn the_disk_comes_first() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a");
    assert_eq!((played.begun.len(), played.sends.len(), played.fresh.len()), (0, 0, 1));
    played.sync();
    assert_eq!((played.begun.len(), played.sends.as_slice()), (1, [1].as_slice()));
}

/// N19: 2xx lets go; any other 4xx is set aside and blocks nothing; N13: a task whose reports are refused ends as
/// `callback_error`.
#[test]
fn refused_events_are_set_aside() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    assert_eq!(played.sends, [1, 2]);
    played.answer_send(1, Answer::Refused(Refusal { status: 404, detail: "no such task".into() }));
    assert_eq!((played.aside.len(), played.killed.as_slice()), (1, [1].as_slice()));
    played.answer_send(2, Answer::Taken);
    played.end(1, STOPPED);
    played.take_all();
    assert!(played.disk.is_empty());
    let last = played.told().pop().unwrap();
    assert_eq!(last, "end 1#1 callback_error: the backend refused it with 404: no such task");
}

/// N20: tried after 1, 2, 5, 10, 30, 30 seconds; degraded after the seventh try; then every 30 seconds.
#[test]
fn an_event_is_tried_on_the_contracts_schedule() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a");
    played.sync();
    let mut waits = Vec::new();
    for failures in 1..=8 {
        assert_eq!(played.core.status().degraded, failures > 7);
        played.answer_send(1, Answer::None);
        let failed_at = played.now;
        while played.sends.is_empty() {
            let pause = played.core.next_wake() - played.now;
            played.pass(pause.0.max(1));
            played.pulls.clear();
        }
        waits.push((played.now - failed_at).0 / 1000);
    }
    assert_eq!(waits, [1, 2, 5, 10, 30, 30, 30, 30]);
    assert!(played.beats.last().unwrap().degraded);
}

/// N20: while nobody answers, tasks are executed and every event is kept; a pull that succeeds again tries at once;
/// everything drains in order before new work is asked for.
#[test]
fn an_outage_costs_nothing_but_time() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a r/2@b r/3@a");
    let lost = played.pulls.remove(0);
    played.core.pulled(lost.number, Err(NoAnswer), played.now);
    played.gather();
    played.sync();
    for number in [1, 2] {
        played.answer_send(number, Answer::None);
    }
    for work in 1..=3 {
        played.pass(200);
        played.end(work, WELL);
        played.sync();
    }
    for _ in 0..600 {
        played.pass(1_000);
        for number in played.sends.clone() {
            played.answer_send(number, Answer::None);
        }
        for pull in std::mem::take(&mut played.pulls) {
            played.core.pulled(pull.number, Err(NoAnswer), played.now);
            played.gather();
        }
    }
    let status = played.core.status();
    assert!(status.degraded && status.spooled == 6 && status.running == 0, "{status:?}");
    while played.pulls.is_empty() {
        played.pass(1_000);
        for number in played.sends.clone() {
            played.answer_send(number, Answer::None);
        }
    }
    played.answer(PulledWork::default());
    assert_eq!(played.sends, [1], "probed at once, one at a time");
    played.answer_send(1, Answer::Taken);
    assert!(played.core.status().recovering);
    played.pass(10_000);
    assert!(played.pulls.iter().all(|pull| pull.max_jobs == 0), "nothing new before the spool is empty");
    let mut order = vec![1];
    while let Some(number) = played.sends.first().copied() {
        order.push(number);
        played.answer_send(number, Answer::Taken);
    }
    let places = |task: &str| {
        let of_task = played.log.iter().filter(|(_, event)| &*event.kind.attempt().unwrap().task == task);
        of_task.map(|(number, _)| order.iter().position(|sent| sent == number).unwrap()).collect::<Vec<_>>()
    };
    for task in ["1", "2", "3"] {
        assert!(places(task).is_sorted(), "{order:?}");
    }
    assert_eq!(order.len(), 6);
    played.pulls.clear();
    played.core.pulled(u64::MAX, Ok(PulledWork::default()), played.now);
    assert!(!played.core.status().recovering);
}
