//! What memory has forgotten is found by its key, and only when it is past.

use super::{Fixture, desk::Desk, named, samples::*};
use muster_model::{Fact, JobRecord, JobStatus, Key, Recorded, ReportRecord, TaskRecord, TaskStatus};

named![
    a_task_is_a_fact_once_it_ended,
    a_job_is_a_fact_once_it_closed,
    a_report_is_known_by_its_id,
    report_ids_differ_in_every_character,
    a_submission_is_known_by_its_key,
    many_keys_are_looked_up_at_once,
    a_lookup_sees_the_commit_before_it,
    a_lookup_of_nothing_finds_nothing,
];

fn a_task_is_a_fact_once_it_ended(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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

fn a_job_is_a_fact_once_it_closed(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let key = || Key::Job(job_id(1));
    desk.commit([changed(JobRecord { status: JobStatus::Cancelled, ..job(1) })]);
    assert_eq!(desk.fact(key()), None, "it ended, but a task of it may be live");
    for status in [JobStatus::Success, JobStatus::Failed, JobStatus::Cancelled] {
        desk.commit([changed(JobRecord { status, ..closed_job(1, 5) })]);
        assert_eq!(desk.fact(key()), Some(Fact::Job(status)));
    }
}

fn a_report_is_known_by_its_id(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let stale = ReportRecord {
        subject: subject(u32::MAX),
        task: None,
        effect: Recorded::Stale,
        ..report(&"기".repeat(128), 5)
    };
    desk.commit([changed(report("evt-1", 5)), changed(stale)]);
    let mut desk = desk.reopen(fixture);
    assert_eq!(desk.fact(Key::Report(report_id("evt-1"))), Some(Fact::Report(Some(subject(1)))));
    let long = Key::Report(report_id(&"기".repeat(128)));
    assert_eq!(desk.fact(long), Some(Fact::Report(Some(subject(u32::MAX)))));
}

fn report_ids_differ_in_every_character(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(report("evt-1", 5))]);
    for other in ["evt-10", "evt-", "EVT-1", "evt-1 ", "evt-2"] {
        assert_eq!(desk.fact(Key::Report(report_id(other))), None, "{other}");
    }
}

fn a_submission_is_known_by_its_key(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(key("열쇠 1", 5))]);
    let mut desk = desk.reopen(fixture);
    let found = Fact::Submission(key("열쇠 1", 5));
    assert_eq!(desk.fact(Key::Submission(submission_key("열쇠 1"))), Some(found));
    assert_eq!(desk.fact(Key::Submission(submission_key("열쇠 2"))), None);
}

fn many_keys_are_looked_up_at_once(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=1_000).map(|ordinal| changed(ended_task(1, ordinal, 5))));
    desk.commit([changed(report("r", 5)), changed(key("k", 5)), changed(closed_job(2, 5))]);
    let mut keys: Vec<Key> = (1..=2_000).map(|ordinal| Key::Task(task_id(1, ordinal))).collect();
    keys.extend([Key::Report(report_id("r")), Key::Submission(submission_key("k")), Key::Job(job_id(2))]);
    let facts = desk.term.lookup.facts(&keys).expect("keys are looked up");
    assert_eq!(keys.iter().filter(|key| facts.get(key).is_some()).count(), 1_003);
}

fn a_lookup_sees_the_commit_before_it(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    for ordinal in 1..=50 {
        assert_eq!(desk.fact(Key::Task(task_id(1, ordinal))), None);
        desk.commit([changed(ended_task(1, ordinal, 5))]);
        assert!(desk.fact(Key::Task(task_id(1, ordinal))).is_some());
    }
}

fn a_lookup_of_nothing_finds_nothing(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.term.lookup.facts(&[]).expect("no keys are looked up");
    assert_eq!(desk.fact(Key::Job(job_id(1))), None);
}
