//! What memory has forgotten of the pool is found by its key.

use super::{Fixture, desk::Desk, named, samples::*};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Fact, Key, PoolEndRecord, PoolJobId, PoolJobStatus,
    UserId,
};

named![
    the_end_of_a_job_is_found,
    an_assignment_is_found_whatever_became_of_it,
    a_key_is_its_clients_own,
    a_key_can_come_again,
    a_batch_just_kept_is_found,
    numbers_nobody_was_given_are_nothing,
];

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
