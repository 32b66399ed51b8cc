//! What a restart finds, and what it makes of it.

use super::*;

/// N22b: what a crash interrupted is reported once as failed, and not run again.
#[test]
fn an_interrupted_task_is_reported_and_not_run_again() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@b");
    played.sync();
    let mut played = played.crash(1);
    assert_eq!(played.told(), ["start 1#1", "end 1#1 unknown: agent restarted"]);
    played.sync();
    let mut played = played.crash(1);
    assert_eq!(played.told().len(), 2, "reported once");
    played.core.devices_seen(Vec::new(), played.now);
    played.gather();
    played.hand_out("r/1@a r/2@b");
    played.sync();
    let begun: Vec<&str> = played.begun.iter().map(|work| &*work.job.task).collect();
    assert_eq!(begun, ["2"], "1 is known, 2 was never begun and comes again (N2)");
    assert_eq!(played.log.last().map(|(number, _)| *number), Some(3), "numbers go on");
}

/// N22b: a snapshot and what came after it tell the same as everything from the beginning.
#[test]
fn a_snapshot_stands_for_what_came_before() {
    let mut played = Played::ready(2);
    let runs = vec![AnnouncedRun { run: "r".into(), targets: 3, max_concurrency: 2 }];
    let jobs = ["r/1@a", "r/2@b"].map(job).to_vec();
    played.answer(PulledWork { runs, jobs, ..PulledWork::default() });
    played.sync();
    played.end(1, WELL);
    played.sync();
    let (snapshot, kept) = (played.core.snapshot(), played.log.len());
    played.end(2, End::Failed { reason: FailureReason::AdbOffline, error: "gone".into(), timed_out: false });
    played.sync();
    let last = played.log.len() as u64;
    let found = Found {
        snapshot: Some(snapshot),
        since: played.log[kept..].to_vec(),
        pending: played.disk.clone(),
        last,
    };
    let books = Played::restarted(2, found, played.now).core.books;
    assert_eq!(books, played.crash(2).core.books);
    assert_eq!(books.runs["r"].summary(), RunSummary { succeeded: 1, failed: 1, timeout: 0 });
}

/// N9, N14: a run is announced once and closed once, when nothing of it is in hand; its summary counts tasks.
#[test]
fn a_run_is_told_from_its_first_job_to_its_last() {
    let mut played = Played::ready(2);
    let offer = AnnouncedRun { run: "r".into(), targets: 2, max_concurrency: 2 };
    let answer = PulledWork { runs: vec![offer], jobs: vec![job("r/1@a")], ..PulledWork::default() };
    played.answer(answer.clone());
    played.answer(answer);
    played.pass(1_000);
    played.sync();
    played.answer(PulledWork { finished_runs: texts("r"), stop: texts("1"), ..PulledWork::default() });
    assert_eq!(played.killed, [1]);
    assert_eq!(played.told(), ["run r of 2", "start 1#1"], "not over while it runs");
    played.end(1, STOPPED);
    let over = ["run r of 2", "start 1#1", "end 1#1 unknown: stopped on request", "over r 0/1/0"];
    assert_eq!(played.told(), over);
    played.pass(1_000);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    assert_eq!(played.told().len(), 4, "said once");
    played.take_all();
    played.pass(1_000);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    assert_eq!(played.told().len(), 4, "that question had left before the answer was known");
    for _ in 0..29 {
        played.pass(1_000);
        played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    }
    assert_eq!(played.told().len(), 4, "a backend that does not listen is not told in a loop");
    played.pass(3_000);
    played.answer(PulledWork::default());
    played.pass(1_000);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    assert_eq!(played.told().len(), 5, "a backend that asks again is told again");
}

/// N14: a run that comes back after it was closed is open again: its count holds all of it, however long the rest takes.
#[test]
fn a_run_that_comes_back_is_counted_in_full() {
    let mut played = Played::ready(1);
    let runs = vec![AnnouncedRun { run: "r".into(), targets: 1, max_concurrency: 1 }];
    played.answer(PulledWork { runs, jobs: vec![job("r/1@a")], ..PulledWork::default() });
    played.sync();
    played.end(1, WELL);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    played.take_all();
    assert_eq!(played.told().last().unwrap(), "over r 1/0/0");
    played.hand_out("r/2@b");
    played.sync();
    played.pass(300_000);
    played.end(2, WELL);
    played.take_all();
    played.pass(60_000);
    played.answer(PulledWork { finished_runs: texts("r"), ..PulledWork::default() });
    assert_eq!(played.told().last().unwrap(), "over r 2/0/0");
}

/// N1: a newer attempt replaces the older, which ends first; a job in its line is withdrawn.
#[test]
fn a_newer_attempt_waits_for_the_end_of_the_older() {
    let mut played = Played::ready(2);
    played.hand_out("r/1@a");
    played.sync();
    played.hand_out("r/1@a#2");
    assert_eq!((played.killed.as_slice(), played.begun.len()), ([1].as_slice(), 1));
    played.end(1, STOPPED);
    played.sync();
    assert_eq!((played.begun.len(), played.begun[1].job.attempt), (2, 2));
    played.hand_out("r/1@a#1");
    assert_eq!(played.core.status().queued, 0, "an older attempt is nothing");
}

/// N1: `stop` ends what waits and what runs, and answers for what was never heard of where the backend says what it is.
#[test]
fn stop_is_answered_for_whatever_it_names() {
    let mut played = Played::ready(1);
    played.hand_out("r/1@a r/2@a");
    played.sync();
    let stop_jobs = vec![job("r/3@b")];
    played.answer(PulledWork { stop: texts("1 2 3 4"), stop_jobs, ..PulledWork::default() });
    played.end(1, STOPPED);
    assert_eq!(
        played.told(),
        [
            "start 1#1",
            "end 2#1 unknown: stopped before it began",
            "end 3#1 unknown: stopped before it began",
            "end 1#1 unknown: stopped on request"
        ]
    );
}
