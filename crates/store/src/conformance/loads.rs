//! Live state is loaded when a term begins; the past is looked up by key.

use super::samples::*;
use crate::{
    Loaded,
    conformance::{desk::Desk, loaded, named},
};
use muster_model::{
    Change, Fact, FarmRecord, FrameChange, JobRecord, JobStatus, Key, PoolChange, PoolCounters, Recorded,
    ReportRecord, SecretRecord, TaskRecord, TaskStatus,
};

named![
    an_empty_store_loads_nothing,
    records_are_handed_over_in_order,
    open_jobs_come_oldest_first,
    closed_jobs_and_their_tasks_are_not_loaded,
    ended_tasks_of_open_jobs_are_loaded,
    a_job_that_closes_is_loaded_no_more,
    the_largest_job_number_is_told,
    loading_twice_gives_the_same,
    a_task_is_a_fact_once_it_ended,
    a_job_is_a_fact_once_it_closed,
    a_report_is_known_by_its_id,
    report_ids_differ_in_every_character,
    a_submission_is_known_by_its_key,
    many_keys_are_looked_up_at_once,
    a_lookup_sees_the_commit_before_it,
    a_lookup_of_nothing_finds_nothing,
];

fn an_empty_store_loads_nothing(desk: &mut Desk) {
    let loaded = desk.load();
    let farm = FarmRecord { paused: false, next_chunk: 1, next_id: 1 };
    assert!(
        matches!(&loaded[..], [Loaded::JobSeq(0), Loaded::Frames(FrameChange::Farm(found)), Loaded::SessionSeq(0),
            Loaded::Pool(PoolChange::Counters(counters))]
            if *found == farm && *counters == PoolCounters { next_worker: 1, next_job: 1, oldest_open: 1 }),
        "{loaded:?}"
    );
}

fn rank(loaded: &Loaded) -> Option<u8> {
    match loaded {
        Loaded::Worker(_) => Some(0),
        Loaded::Lane(_) => Some(1),
        Loaded::Job(_) => Some(2),
        Loaded::Task(_) => Some(3),
        Loaded::Share(_) => Some(4),
        Loaded::Stop(..) => Some(5),
        Loaded::Secrets(..) => Some(6),
        Loaded::JobSeq(_) | Loaded::NewestReport(_) | Loaded::Frames(_) | Loaded::SessionSeq(_) => None,
        Loaded::Accounts(_) | Loaded::Pool(_) | Loaded::Schedule(_) => None,
    }
}

fn records_are_handed_over_in_order(desk: &mut Desk) {
    let secrets = vec![SecretRecord { hash: [1; 32], valid_until: None }];
    desk.commit([
        Change::Secrets(name("PC-01"), secrets),
        Change::Stop { worker: name("PC-01"), task: task_id(1, 1), gone: false },
        changed(share("PC-01", 1)),
        changed(task(1, 1)),
        changed(task(2, 1)),
        changed(job(1)),
        changed(job(2)),
        changed(lane("a", "PC-01")),
        changed(worker("PC-01")),
    ]);
    let ranks: Vec<u8> = desk.load().iter().filter_map(rank).collect();
    assert_eq!(ranks, [0, 1, 2, 2, 3, 3, 4, 5, 6]);
}

/// The ages of the jobs and the jobs of the tasks that are loaded.
fn jobs_and_tasks(desk: &mut Desk) -> (Vec<u64>, Vec<(u128, u32)>) {
    let (mut jobs, mut tasks) = (Vec::new(), Vec::new());
    for loaded in desk.load() {
        match loaded {
            Loaded::Job(job) => jobs.push(job.seq),
            Loaded::Task(task) => tasks.push((task.id.job.0, task.id.ordinal)),
            _ => {}
        }
    }
    tasks.sort_unstable();
    (jobs, tasks)
}

fn open_jobs_come_oldest_first(desk: &mut Desk) {
    // Ids sort against the ages here.
    let aged = |number: u64, seq| changed(JobRecord { seq, ..job(number) });
    desk.commit([aged(5, 2), aged(9, 1), aged(1, 3)]);
    assert_eq!(jobs_and_tasks(desk).0, [1, 2, 3]);
}

fn closed_jobs_and_their_tasks_are_not_loaded(desk: &mut Desk) {
    desk.commit([changed(closed_job(1, 5)), changed(job(2)), changed(closed_job(3, 5))]);
    desk.commit((1..=3).flat_map(|job| [changed(ended_task(job, 1, 5)), changed(ended_task(job, 2, 5))]));
    let id = job_id(2).0;
    assert_eq!(jobs_and_tasks(desk), (vec![2], vec![(id, 1), (id, 2)]));
}

fn ended_tasks_of_open_jobs_are_loaded(desk: &mut Desk) {
    desk.commit([changed(job(1)), changed(task(1, 1)), changed(ended_task(1, 2, 5))]);
    assert_eq!(
        loaded!(desk, Loaded::Task(task) => task.status),
        [TaskStatus::Running, TaskStatus::Completed]
    );
}

fn a_job_that_closes_is_loaded_no_more(desk: &mut Desk) {
    desk.commit([changed(job(1)), changed(task(1, 1))]);
    assert_eq!(jobs_and_tasks(desk).0, [1]);
    desk.commit([changed(closed_job(1, 5)), changed(ended_task(1, 1, 5))]);
    assert_eq!(jobs_and_tasks(desk), (vec![], vec![]));
}

fn the_largest_job_number_is_told(desk: &mut Desk) {
    desk.commit([changed(closed_job(7, 5)), changed(job(3))]);
    desk.commit([changed(job(5))]);
    desk.reopen();
    assert_eq!(loaded!(desk, Loaded::JobSeq(seq) => seq), [7]);
}

fn loading_twice_gives_the_same(desk: &mut Desk) {
    desk.commit([changed(job(1)), changed(task(1, 1)), changed(worker("PC-01"))]);
    let (first, second) = (desk.load(), desk.load());
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}

fn a_task_is_a_fact_once_it_ended(desk: &mut Desk) {
    let key = || Key::Task(task_id(1, 1));
    for status in [TaskStatus::Pending, TaskStatus::Running] {
        desk.commit([changed(TaskRecord { status, ..task(1, 1) })]);
        assert_eq!(desk.fact(key()), None, "{status:?}");
    }
    for status in [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Cancelled] {
        let ended = TaskRecord { status, result: Some("{}".into()), ..ended_task(1, 1, 5) };
        desk.commit([changed(ended.clone())]);
        assert_eq!(desk.fact(key()), Some(Fact::Task(Box::new(ended))));
    }
}

fn a_job_is_a_fact_once_it_closed(desk: &mut Desk) {
    let key = || Key::Job(job_id(1));
    desk.commit([changed(JobRecord { status: JobStatus::Cancelled, ..job(1) })]);
    assert_eq!(desk.fact(key()), None, "it ended, but a task of it may be live");
    for status in [JobStatus::Success, JobStatus::Failed, JobStatus::Cancelled] {
        desk.commit([changed(JobRecord { status, ..closed_job(1, 5) })]);
        assert_eq!(desk.fact(key()), Some(Fact::Job(status)));
    }
}

fn a_report_is_known_by_its_id(desk: &mut Desk) {
    let stale = ReportRecord {
        subject: subject(u32::MAX),
        task: None,
        effect: Recorded::Stale,
        ..report(&"기".repeat(128), 5)
    };
    desk.commit([changed(report("evt-1", 5)), changed(stale)]);
    desk.reopen();
    assert_eq!(desk.fact(Key::Report(report_id("evt-1"))), Some(Fact::Report(Some(subject(1)))));
    let long = Key::Report(report_id(&"기".repeat(128)));
    assert_eq!(desk.fact(long), Some(Fact::Report(Some(subject(u32::MAX)))));
}

fn report_ids_differ_in_every_character(desk: &mut Desk) {
    desk.commit([changed(report("evt-1", 5))]);
    for other in ["evt-10", "evt-", "EVT-1", "evt-1 ", "evt-2"] {
        assert_eq!(desk.fact(Key::Report(report_id(other))), None, "{other}");
    }
}

fn a_submission_is_known_by_its_key(desk: &mut Desk) {
    desk.commit([changed(key("열쇠 1", 5))]);
    desk.reopen();
    let found = Fact::Submission(key("열쇠 1", 5));
    assert_eq!(desk.fact(Key::Submission(submission_key("열쇠 1"))), Some(found));
    assert_eq!(desk.fact(Key::Submission(submission_key("열쇠 2"))), None);
}

fn many_keys_are_looked_up_at_once(desk: &mut Desk) {
    desk.commit((1..=1_000).map(|ordinal| changed(ended_task(1, ordinal, 5))));
    desk.commit([changed(report("r", 5)), changed(key("k", 5)), changed(closed_job(2, 5))]);
    let mut keys: Vec<Key> = (1..=2_000).map(|ordinal| Key::Task(task_id(1, ordinal))).collect();
    keys.extend([Key::Report(report_id("r")), Key::Submission(submission_key("k")), Key::Job(job_id(2))]);
    let facts = desk.term.lookup.facts(&keys).expect("keys are looked up");
    assert_eq!(keys.iter().filter(|key| facts.get(key).is_some()).count(), 1_003);
}

fn a_lookup_sees_the_commit_before_it(desk: &mut Desk) {
    for ordinal in 1..=50 {
        assert_eq!(desk.fact(Key::Task(task_id(1, ordinal))), None);
        desk.commit([changed(ended_task(1, ordinal, 5))]);
        assert!(desk.fact(Key::Task(task_id(1, ordinal))).is_some());
    }
}

fn a_lookup_of_nothing_finds_nothing(desk: &mut Desk) {
    desk.term.lookup.facts(&[]).expect("no keys are looked up");
    assert_eq!(desk.fact(Key::Job(job_id(1))), None);
}
