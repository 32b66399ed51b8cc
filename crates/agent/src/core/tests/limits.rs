//! Full disks, refusals, outages and haste.

use super::*;

/// N19: a full disk stops what is new, not what runs, and loses nothing.
#[test]
fn a_full_disk_stops_what_is_new() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    played.end(1, WELL);
    played.core.spool_failed(played.now);
    played.gather();
    assert!(played.core.status().spool_full);
    played.answer(PulledWork::default());
    played.pass(6_000);
    assert_eq!(played.pulls.last().unwrap().max_jobs, 0);
    played.sync();
    assert!(!played.core.status().spool_full);
    assert_eq!(played.begun.len(), 2, "the second began when its start was on disk");
    assert_eq!(played.pulls.len(), 1);
}

/// N19: room that is reserved is for what runs: reports are written there and leave, nothing new is begun.
#[test]
fn the_reserve_is_for_what_runs() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    for _ in 0..2 {
        played.core.durable_in_reserve(played.core.last_event, played.now);
        played.gather();
        assert!(played.core.status().spool_full);
        played.end(1, WELL);
    }
    assert_eq!((played.begun.len(), played.core.status().running), (1, 0));
    played.core.durable(played.core.last_event, played.now);
    played.gather();
    played.sync();
    assert!(!played.core.status().spool_full);
    assert_eq!(played.begun.len(), 2);
}

/// N1b: a change of the devices is told at once, beside the pull that waits.
#[test]
fn devices_are_told_of_at_once() {
    let mut played = Played::ready(1);
    assert_eq!(played.pulls.len(), 1);
    assert_eq!(played.pulls[0].devices.as_ref().unwrap().len(), 2);
    played.core.devices_seen(Vec::new(), played.now);
    played.gather();
    assert_eq!(played.pulls.len(), 2);
    assert_eq!((played.pulls[1].max_jobs, played.pulls[1].devices.as_ref().unwrap().len()), (0, 0));
    played.core.devices_unknown(played.now);
    played.gather();
    assert_eq!(played.pulls.len(), 2, "nothing has changed");
}

/// N1b: a report of devices that is refused is told again in measure, not in a loop.
#[test]
fn a_refused_report_of_devices_is_told_in_measure() {
    let mut played = Played::ready(1);
    played.answer(PulledWork::default());
    played.core.devices_seen(Vec::new(), played.now);
    played.gather();
    let mut told = 0;
    for _ in 0..10_000 {
        while played.pulls.len() > 1 {
            told += 1;
            let refused = played.pulls.remove(1);
            played.core.pulled(refused.number, Err(NoAnswer), played.now);
            played.gather();
        }
        played.pass(1);
    }
    assert_eq!(told, 4, "at once, and after 1, 2 and 5 seconds");
}

/// N20: one event that the backend always puts off is shown as degraded, but does not keep the node without work.
#[test]
fn one_event_that_is_always_put_off_does_not_idle_the_node() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a");
    played.sync();
    for _ in 0..400 {
        played.pass(1_000);
        for number in played.sends.clone() {
            played.answer_send(number, if number == 1 { Answer::Later(None) } else { Answer::Taken });
        }
        while !played.pulls.is_empty() {
            played.answer(PulledWork::default());
        }
        if played.core.status().running == 1 && played.core.status().degraded {
            played.end(1, WELL);
            played.sync();
        }
    }
    assert_eq!(played.core.status().spooled, 2, "its start, and the end that must wait for it");
    played.pass(1_000);
    assert!(played.pulls.iter().any(|pull| pull.max_jobs > 0), "{:?}", played.pulls);
}

/// N20: a backend that is away, and something in front of it that says so at every try, is an outage like any other:
/// everything drains before new work is asked for.
#[test]
fn an_outage_in_words_is_an_outage() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    let away = |played: &mut Played| {
        played.pass(1_000);
        for number in played.sends.clone() {
            played.answer_send(number, Answer::Later(None));
        }
    };
    for second in 0..600 {
        away(&mut played);
        for pull in std::mem::take(&mut played.pulls) {
            played.core.pulled(pull.number, Err(NoAnswer), played.now);
            played.gather();
        }
        if second == 10 {
            [1, 2].into_iter().for_each(|work| played.end(work, WELL));
            played.sync();
        }
    }
    assert!(played.core.status().degraded && played.core.status().spooled == 4);
    while played.pulls.is_empty() {
        away(&mut played);
    }
    played.answer(PulledWork::default());
    while let Some(number) = played.sends.first().copied() {
        assert!(played.pulls.iter().all(|pull| pull.max_jobs == 0), "{number} is not taken");
        played.answer_send(number, Answer::Taken);
        if !played.pulls.is_empty() {
            played.answer(PulledWork::default());
        }
        played.pass(5_000);
    }
    assert_eq!(played.core.status().spooled, 0);
    assert!(played.pulls.iter().any(|pull| pull.max_jobs > 0));
}

/// N1, N1b: a stop that a newer attempt has overtaken on its way is not for that attempt.
#[test]
fn an_overtaken_stop_spares_the_newer_attempt() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a");
    played.sync();
    played.pass(1);
    played.core.devices_seen(Vec::new(), played.now);
    played.gather();
    let telling = played.pulls.remove(1);
    played.pass(1);
    played.hand_out("r/1@a#2");
    let stop = PulledWork { stop: texts("1"), ..PulledWork::default() };
    played.core.pulled(telling.number, Ok(stop), played.now);
    played.gather();
    played.end(1, STOPPED);
    played.sync();
    assert_eq!(played.begun.len(), 2, "{:?}", played.told());
}

/// N22b: an attempt that is being ended for a newer one is not forgotten by a snapshot.
#[test]
fn a_snapshot_remembers_what_is_being_replaced() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a");
    played.sync();
    played.hand_out("r/1@a#2");
    let found = Found {
        snapshot: Some(played.core.snapshot()),
        since: Vec::new(),
        pending: played.disk.clone(),
        last: 1,
    };
    let again = Played::restarted(1, found, played.now);
    assert_eq!(again.told(), ["end 1#1 unknown: agent restarted"]);
}

/// N1, N20: a backend that answers at once with nothing is not asked in a loop; a heartbeat leaves at the start and
/// every 30 seconds.
#[test]
fn a_hasty_backend_is_asked_in_measure() {
    let mut played = Played::ready(1);
    let mut asked = 0;
    for _ in 0..61_000 {
        while !played.pulls.is_empty() {
            asked += 1;
            played.answer(PulledWork::default());
        }
        played.pass(1);
    }
    assert_eq!((asked, played.beats.len()), (62, 3));
}

/// N8, N20: the heartbeat of the start speaks of the devices, unless they do not show up.
#[test]
fn the_first_heartbeat_knows_the_devices() {
    let played = Played::ready(1);
    assert_eq!((played.beats.len(), played.beats[0].connected), (1, 2));
    let mut blind = Played::new(1);
    assert_eq!(blind.beats.len(), 0);
    blind.pass(5_000);
    assert_eq!((blind.beats.len(), blind.beats[0].connected), (1, 0));
}

/// I11: draining hands nothing back that waits, ends or lets end what runs, and then is over.
#[test]
fn draining_ends_in_either_way() {
    for (drain, killed) in [(Drain::Finish, 0), (Drain::HandBack, 1)] {
        let mut played = Played::ready(1);
        played.hand_out("r/1@a r/2@b");
        played.sync();
        played.core.drain(drain, played.now);
        played.gather();
        assert_eq!(played.killed.len(), killed);
        assert!(!played.core.is_idle());
        played.end(1, if killed == 0 { WELL } else { STOPPED });
        assert!(played.core.is_idle() && !played.core.is_drained());
        played.take_all();
        assert!(played.core.is_drained());
        assert_eq!(played.begun.len(), 1, "2 is forgotten; the backend hands it out again");
    }
}
