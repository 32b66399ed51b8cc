//! The pool: lists are read in pages, live state is loaded when a term begins, the past is looked up by key.

use super::samples::*;
use crate::{
    Cursor, Loaded, POOL_JOBS_LOOKED_AT, PoolJobFilter,
    conformance::{
        desk::{Desk, SIZES, assert_listed, read_all},
        loaded, named,
    },
};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Demand, Fact, Key, PoolChange, PoolCounters,
    PoolEndRecord, PoolJobDraft, PoolJobId, PoolJobRecord, PoolJobStatus, PoolWorkerRecord, Timestamp,
    UserId,
};

named![
    jobs_of_the_pool_come_newest_first_in_pages,
    jobs_of_the_pool_are_filtered,
    a_job_that_is_rare_is_found_among_many,
    workers_of_the_pool_come_by_number_in_pages,
    workers_of_the_pool_are_filtered,
    the_oldest_job_that_nobody_has_is_found,
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

fn jobs_of_the_pool_come_newest_first_in_pages(desk: &mut Desk) {
    desk.commit((1..=12).rev().map(|id| changed(job(id))));
    desk.commit([changed(done(3, 1)), changed(end(3, 5)), changed(end(12, 5))]);
    let reader = desk.reader();
    for size in SIZES {
        let read = read_all(size, |page| reader.pool_jobs(&PoolJobFilter::default(), page));
        let jobs: Vec<PoolJobRecord> = read.iter().map(|view| view.job.clone()).collect();
        assert_eq!(jobs, (1..=12).rev().map(job).collect::<Vec<_>>());
        assert_eq!(read[9].result, Some(done(3, 1)));
    }
}

fn ids(desk: &Desk, client: Option<u64>, status: Option<PoolJobStatus>) -> Vec<u64> {
    let filter = PoolJobFilter { client: client.map(UserId), status };
    let views = read_all(1, |page| desk.reader().pool_jobs(&filter, page));
    views.iter().map(|view| view.job.id.0).collect()
}

/// P13: a client sees its own.
fn jobs_of_the_pool_are_filtered(desk: &mut Desk) {
    use PoolJobStatus::{Cancelled, Completed, Failed, Queued, Running};
    desk.commit((1..=9).map(|id| changed(PoolJobRecord { client: UserId(id % 2), ..job(id) })));
    let expired = AssignmentRecord { state: AssignmentState::Expired, ..assignment(7, 1) };
    desk.commit([changed(end(1, 5)), changed(end(2, 5)), changed(assignment(6, 1)), changed(expired)]);
    desk.commit([changed(PoolEndRecord { status: Failed, ..end(3, 5) }), changed(assignment(9, 63))]);
    desk.commit([changed(PoolEndRecord { status: Cancelled, ..end(4, 5) })]);
    desk.commit([changed(PoolCounters { next_worker: 1, next_job: 10, oldest_open: 5 })]);
    assert_eq!(ids(desk, None, None), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(ids(desk, Some(1), None), [9, 7, 5, 3, 1]);
    let by_status =
        [Queued, Running, Completed, Failed, Cancelled].map(|status| ids(desk, None, Some(status)));
    assert_eq!(by_status, [vec![8, 7, 5], vec![9, 6], vec![2, 1], vec![3], vec![4]]);
    assert_eq!(ids(desk, Some(0), Some(Completed)), [2]);
    assert_eq!(ids(desk, Some(1), Some(Queued)), [7, 5]);
    assert_eq!(ids(desk, Some(5), None), [0; 0]);
}

/// A page may be short, or empty, and still have a next.
fn a_job_that_is_rare_is_found_among_many(desk: &mut Desk) {
    let of = |client, id| changed(PoolJobRecord { client: UserId(client), ..job(id) });
    desk.commit([of(1, 1), of(1, 2)].into_iter().chain((3..=50_002).map(|id| of(2, id))));
    let filter = PoolJobFilter { client: Some(UserId(1)), status: None };
    let (mut found, mut page) = (Vec::new(), Cursor { after: None, limit: 1 });
    for _ in 0..10 {
        let read = desk.reader().pool_jobs(&filter, &page).expect("a page is read");
        found.extend(read.items.iter().map(|view| view.job.id.0));
        page.after = read.next;
        if page.after.is_none() {
            break;
        }
    }
    assert_eq!((found, page.after), (vec![2, 1], None));
}

fn workers_of_the_pool_come_by_number_in_pages(desk: &mut Desk) {
    desk.commit((1..=12).rev().map(|id| changed(worker(id))));
    let reader = desk.reader();
    assert_listed((1..=12).map(worker), |page| reader.pool_workers(None, page));
}

/// P4: an owner sees its own.
fn workers_of_the_pool_are_filtered(desk: &mut Desk) {
    desk.commit((1..=6).map(|id| changed(PoolWorkerRecord { owner: UserId(id % 2), ..worker(id) })));
    desk.commit([changed(PoolWorkerRecord { owner: UserId(0), ..worker(5) })]);
    let of = |owner| -> Vec<u64> {
        let workers = read_all(1, |page| desk.reader().pool_workers(Some(UserId(owner)), page));
        workers.iter().map(|worker| worker.id.0).collect()
    };
    assert_eq!([0, 1, 2].map(of), [vec![2, 4, 5, 6], vec![1, 3], vec![]]);
}

fn the_oldest_job_that_nobody_has_is_found(desk: &mut Desk) {
    let oldest = |desk: &Desk| desk.reader().backlog().expect("it is read").oldest_pool_job;
    let waiting = |id: u64| Some((PoolJobId(id), Timestamp(1)));
    assert_eq!(oldest(desk), None);
    desk.commit((2..=5).map(|id| changed(job(id))));
    desk.commit([changed(PoolCounters { next_worker: 1, next_job: 6, oldest_open: 2 })]);
    assert_eq!(oldest(desk), waiting(2));
    let expired = AssignmentRecord { state: AssignmentState::Expired, ..assignment(4, 1) };
    desk.commit([changed(end(2, 5)), changed(assignment(3, 1)), changed(expired)]);
    assert_eq!(oldest(desk), waiting(4), "the second ended, somebody has the third");
    desk.commit([changed(end(4, 5)), changed(end(5, 5)), changed(job(3 + POOL_JOBS_LOOKED_AT))]);
    assert_eq!(oldest(desk), None, "a bounded number is looked at");
    desk.commit([changed(PoolCounters { next_worker: 1, next_job: 6, oldest_open: 4 })]);
    assert_eq!(oldest(desk), waiting(3 + POOL_JOBS_LOOKED_AT));
}

/// Records of the pool that are loaded, beside the counters.
fn pool(desk: &mut Desk) -> Vec<PoolChange> {
    loaded!(desk, Loaded::Pool(change) if !matches!(change, PoolChange::Counters(_)) => change)
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

fn records_of_the_pool_are_handed_over_in_order(desk: &mut Desk) {
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
    desk.reopen();
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
    assert_eq!(pool(desk), expected);
    assert_eq!(pool(desk), expected, "loading twice gives the same");
}

fn a_job_of_the_pool_that_ended_is_not_loaded(desk: &mut Desk) {
    let live = AssignmentRecord { state: AssignmentState::Started, ..assignment(2, 2) };
    desk.commit((1..=3).map(|id| changed(job(id))));
    desk.commit([changed(done(1, 1)), changed(done(2, 1)), changed(live.clone()), changed(done(3, 1))]);
    desk.commit([changed(end(1, 5)), changed(end(3, 5))]);
    let expected = [loaded_job(2), loaded_assignment(done(2, 1)), loaded_assignment(live)];
    assert_eq!(pool(desk), expected);
    desk.commit([changed(end(2, 6))]);
    assert_eq!(pool(desk), []);
}

/// P8, P15: the digest of what was handed in and its vote are needed; the result itself is not.
fn payloads_and_results_are_left_out(desk: &mut Desk) {
    desk.commit([changed(worker(1)), changed(job(1)), changed(done(1, 1))]);
    let loaded = pool(desk);
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
fn what_jobs_ask_for_is_loaded(desk: &mut Desk) {
    let demand = Demand { region: Some("eu".into()), requires: specs() };
    let draft = PoolJobDraft { demand, requires_json: Some("{}".into()), redundancy: 3, ..job(1).draft };
    let demanding = PoolJobRecord { draft, ..job(1) };
    desk.commit([changed(demanding.clone())]);
    desk.reopen();
    assert_eq!(pool(desk), [PoolChange::Job(Box::new(without_payload(demanding)))]);
}

fn nothing_before_the_oldest_open_job_is_looked_at(desk: &mut Desk) {
    desk.commit((1..=3).flat_map(|id| [changed(job(id)), changed(assignment(id, 1))]));
    desk.commit([changed(PoolCounters { next_worker: 1, next_job: 4, oldest_open: 3 })]);
    assert_eq!(pool(desk), [loaded_job(3), loaded_assignment(assignment(3, 1))]);
}

fn the_counters_are_loaded(desk: &mut Desk) {
    let counters = |next_job| PoolCounters { next_worker: 3, next_job, oldest_open: 2 };
    desk.commit([changed(counters(5)), changed(counters(9)), changed(counters(7))]);
    // As told, whatever was told before.
    desk.commit([changed(counters(6))]);
    desk.reopen();
    let loaded = desk.load();
    let told = loaded.iter().filter_map(|loaded| match loaded {
        Loaded::Pool(PoolChange::Counters(counters)) => Some(*counters),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [counters(6)]);
}

/// P13
fn the_end_of_a_job_is_found(desk: &mut Desk) {
    let failed = PoolEndRecord {
        status: PoolJobStatus::Failed,
        assignment: None,
        error: Some("no 'majority'".into()),
        ..end(2, 6)
    };
    let cancelled = PoolEndRecord { status: PoolJobStatus::Cancelled, assignment: None, ..end(3, 7) };
    desk.commit((1..=4).map(|id| changed(job(id))));
    desk.commit([changed(end(1, 5)), changed(failed.clone()), changed(cancelled.clone())]);
    desk.reopen();
    for record in [end(1, 5), failed, cancelled] {
        assert_eq!(desk.fact(Key::PoolEnd(record.job)), Some(Fact::PoolEnd(record)));
    }
    assert_eq!(desk.fact(Key::PoolEnd(PoolJobId(4))), None, "an open job has no end");
}

/// P8: with the digest of what was handed in, to know a repeat; without the result.
fn an_assignment_is_found_whatever_became_of_it(desk: &mut Desk) {
    let expired = AssignmentRecord { state: AssignmentState::Expired, ..assignment(1, 2) };
    desk.commit([changed(done(1, 1)), changed(expired.clone()), changed(assignment(2, 1))]);
    desk.reopen();
    for record in [done(1, 1), expired, assignment(2, 1)] {
        let found = Fact::Assignment(Box::new(without_result(record.clone())));
        assert_eq!(desk.fact(Key::Assignment(record.id)), Some(found));
    }
    assert_eq!(desk.fact(Key::Assignment(AssignmentId::new(PoolJobId(1), 3))), None);
}

/// P13: two clients may use the same key.
fn a_key_is_its_clients_own(desk: &mut Desk) {
    desk.commit([changed(key(UserId(1), "k", 5)), changed(key(UserId(2), "k", 6))]);
    desk.reopen();
    for record in [key(UserId(1), "k", 5), key(UserId(2), "k", 6)] {
        let found = desk.fact(Key::PoolSubmission(record.client, record.key.clone()));
        assert_eq!(found, Some(Fact::PoolSubmission(record)));
    }
    assert_eq!(desk.fact(Key::PoolSubmission(UserId(3), submission_key("k"))), None);
    assert_eq!(desk.fact(Key::Submission(submission_key("k"))), None, "nor is it a key of contract Q");
}

fn a_key_can_come_again(desk: &mut Desk) {
    desk.commit([changed(key(CLIENT, "k", 5))]);
    desk.commit([changed(key(CLIENT, "k", 900))]);
    let found = desk.fact(Key::PoolSubmission(CLIENT, submission_key("k")));
    assert_eq!(found, Some(Fact::PoolSubmission(key(CLIENT, "k", 900))));
}

fn a_batch_just_kept_is_found(desk: &mut Desk) {
    for id in 1..=50 {
        assert_eq!(desk.fact(Key::PoolEnd(PoolJobId(id))), None);
        desk.commit([changed(job(id)), changed(done(id, 1)), changed(end(id, 5))]);
        assert!(desk.fact(Key::PoolEnd(PoolJobId(id))).is_some());
        assert!(desk.fact(Key::Assignment(done(id, 1).id)).is_some());
    }
}

fn numbers_nobody_was_given_are_nothing(desk: &mut Desk) {
    for number in [0, 1, u64::MAX] {
        assert_eq!(desk.fact(Key::PoolEnd(PoolJobId(number))), None);
        assert_eq!(desk.fact(Key::Assignment(AssignmentId(number))), None);
        assert_eq!(desk.fact(Key::PoolSubmission(UserId(number), submission_key("k"))), None);
    }
}
