//! The pool: live state is loaded when a term begins; the past is looked up by key.

use super::{Fixture, desk::Desk, named, samples::*};
use crate::Loaded;
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Demand, Fact, Key, PoolChange, PoolCounters,
    PoolEndRecord, PoolJobDraft, PoolJobId, PoolJobRecord, PoolJobStatus, PoolWorkerRecord, UserId,
};

named![
    records_of_the_pool_are_handed_over_in_order,
    a_job_of_the_pool_that_ended_is_not_loaded,
    payloads_and_results_are_left_out,
    what_jobs_ask_for_is_loaded,
    nothing_before_the_oldest_open_job_is_looked_at,
    the_counters_are_loaded,
    the_end_of_a_job_is_found,
    an_assignment_is_found_whatever_became_of_it,
    a_key_is_its_clients_own,
    a_key_can_come_again,
    a_batch_just_kept_is_found,
    numbers_nobody_was_given_are_nothing,
];

/// What is loaded of the pool beside the counters.
fn pool(desk: &mut Desk) -> Vec<PoolChange> {
    let pool = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Pool(change) if !matches!(change, PoolChange::Counters(_)) => Some(change),
        _ => None,
    });
    pool.collect()
}

fn loaded_worker(id: u64) -> PoolChange {
    PoolChange::Worker(Box::new(PoolWorkerRecord { specs_json: None, ..worker(id) }))
}

fn loaded_job(id: u64) -> PoolChange {
    PoolChange::Job(Box::new(without_payload(job(id))))
}

fn loaded_assignment(record: AssignmentRecord) -> PoolChange {
    PoolChange::Assignment(Box::new(without_result(record)))
}

fn records_of_the_pool_are_handed_over_in_order(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([
        changed(assignment(10, 1)),
        changed(assignment(9, 63)),
        changed(assignment(9, 1)),
        changed(job(10)),
        changed(job(11)),
        changed(job(9)),
        changed(worker(10)),
        changed(worker(9)),
        changed(key(CLIENT, "k", 5)),
    ]);
    let mut desk = desk.reopen(fixture);
    let expected = [
        loaded_worker(9),
        loaded_worker(10),
        loaded_job(9),
        loaded_assignment(assignment(9, 1)),
        loaded_assignment(assignment(9, 63)),
        loaded_job(10),
        loaded_assignment(assignment(10, 1)),
        loaded_job(11),
    ];
    assert_eq!(pool(&mut desk), expected);
    assert_eq!(pool(&mut desk), expected, "loading twice gives the same");
}

fn a_job_of_the_pool_that_ended_is_not_loaded(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let live = AssignmentRecord { state: AssignmentState::Started, ..assignment(2, 2) };
    desk.commit((1..=3).map(|id| changed(job(id))));
    desk.commit([changed(done(1, 1)), changed(done(2, 1)), changed(live.clone()), changed(done(3, 1))]);
    desk.commit([changed(end(1, 5)), changed(end(3, 5))]);
    let expected = [loaded_job(2), loaded_assignment(done(2, 1)), loaded_assignment(live)];
    assert_eq!(pool(&mut desk), expected);
    desk.commit([changed(end(2, 6))]);
    assert_eq!(pool(&mut desk), []);
}

/// P8, P15: the digest of what was handed in and its vote are needed; the result itself is not.
fn payloads_and_results_are_left_out(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(worker(1)), changed(job(1)), changed(done(1, 1))]);
    let loaded = pool(&mut desk);
    let [PoolChange::Worker(worker), PoolChange::Job(job), PoolChange::Assignment(assignment)] = &loaded[..]
    else {
        panic!("{loaded:?}")
    };
    assert_eq!((&worker.specs_json, &*job.draft.payload, &assignment.result), (&None, "", &None));
    assert_eq!((assignment.digest, assignment.output_hash.as_deref()), (Some([1; 32]), Some("abc")));
    assert_eq!(assignment.vote.as_deref(), Some("def"));
    assert_eq!(worker.specs, specs());
}

/// P14: a restart changes nothing about who may do a job.
fn what_jobs_ask_for_is_loaded(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let demand = Demand { region: Some("eu".into()), requires: specs() };
    let draft = PoolJobDraft { demand, requires_json: Some("{}".into()), redundancy: 3, ..job(1).draft };
    let demanding = PoolJobRecord { draft, ..job(1) };
    desk.commit([changed(demanding.clone())]);
    let mut desk = desk.reopen(fixture);
    assert_eq!(pool(&mut desk), [PoolChange::Job(Box::new(without_payload(demanding)))]);
}

fn nothing_before_the_oldest_open_job_is_looked_at(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=3).flat_map(|id| [changed(job(id)), changed(assignment(id, 1))]));
    desk.commit([changed(PoolCounters { next_worker: 1, next_job: 4, oldest_open: 3 })]);
    assert_eq!(pool(&mut desk), [loaded_job(3), loaded_assignment(assignment(3, 1))]);
}

fn the_counters_are_loaded(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let counters = |next_job| PoolCounters { next_worker: 3, next_job, oldest_open: 2 };
    desk.commit([changed(counters(5)), changed(counters(9)), changed(counters(7))]);
    // As told, whatever was told before.
    desk.commit([changed(counters(6))]);
    let mut desk = desk.reopen(fixture);
    let loaded = desk.load();
    let told = loaded.iter().filter_map(|loaded| match loaded {
        Loaded::Pool(PoolChange::Counters(counters)) => Some(*counters),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [counters(6)]);
}

/// P13
fn the_end_of_a_job_is_found(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let failed = PoolEndRecord {
        status: PoolJobStatus::Failed,
        assignment: None,
        error: Some("no 'majority'".into()),
        ..end(2, 6)
    };
    let cancelled = PoolEndRecord { status: PoolJobStatus::Cancelled, assignment: None, ..end(3, 7) };
    desk.commit((1..=4).map(|id| changed(job(id))));
    desk.commit([changed(end(1, 5)), changed(failed.clone()), changed(cancelled.clone())]);
    let mut desk = desk.reopen(fixture);
    for record in [end(1, 5), failed, cancelled] {
        assert_eq!(desk.fact(Key::PoolEnd(record.job)), Some(Fact::PoolEnd(record)));
    }
    assert_eq!(desk.fact(Key::PoolEnd(PoolJobId(4))), None, "an open job has no end");
}

/// P8: with the digest of what was handed in, to know a repeat; without the result.
fn an_assignment_is_found_whatever_became_of_it(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let expired = AssignmentRecord { state: AssignmentState::Expired, ..assignment(1, 2) };
    desk.commit([changed(done(1, 1)), changed(expired.clone()), changed(assignment(2, 1))]);
    let mut desk = desk.reopen(fixture);
    for record in [done(1, 1), expired, assignment(2, 1)] {
        let found = Fact::Assignment(Box::new(without_result(record.clone())));
        assert_eq!(desk.fact(Key::Assignment(record.id)), Some(found));
    }
    assert_eq!(desk.fact(Key::Assignment(AssignmentId::new(PoolJobId(1), 3))), None);
}

/// P13: two clients may use the same key.
fn a_key_is_its_clients_own(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(key(UserId(1), "k", 5)), changed(key(UserId(2), "k", 6))]);
    let mut desk = desk.reopen(fixture);
    for record in [key(UserId(1), "k", 5), key(UserId(2), "k", 6)] {
        let found = desk.fact(Key::PoolSubmission(record.client, record.key.clone()));
        assert_eq!(found, Some(Fact::PoolSubmission(record)));
    }
    assert_eq!(desk.fact(Key::PoolSubmission(UserId(3), submission_key("k"))), None);
    assert_eq!(desk.fact(Key::Submission(submission_key("k"))), None, "nor is it a key of contract Q");
}

fn a_key_can_come_again(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(key(CLIENT, "k", 5))]);
    desk.commit([changed(key(CLIENT, "k", 900))]);
    let found = desk.fact(Key::PoolSubmission(CLIENT, submission_key("k")));
    assert_eq!(found, Some(Fact::PoolSubmission(key(CLIENT, "k", 900))));
}

fn a_batch_just_kept_is_found(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    for id in 1..=50 {
        assert_eq!(desk.fact(Key::PoolEnd(PoolJobId(id))), None);
        desk.commit([changed(job(id)), changed(done(id, 1)), changed(end(id, 5))]);
        assert!(desk.fact(Key::PoolEnd(PoolJobId(id))).is_some());
        assert!(desk.fact(Key::Assignment(done(id, 1).id)).is_some());
    }
}

fn numbers_nobody_was_given_are_nothing(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    for number in [0, 1, u64::MAX] {
        assert_eq!(desk.fact(Key::PoolEnd(PoolJobId(number))), None);
        assert_eq!(desk.fact(Key::Assignment(AssignmentId(number))), None);
        assert_eq!(desk.fact(Key::PoolSubmission(UserId(number), submission_key("k"))), None);
    }
}
