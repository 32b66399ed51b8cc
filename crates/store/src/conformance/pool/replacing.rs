//! The pool: later rows replace earlier ones, and what is old is pruned.

use super::{
    Fixture,
    desk::{Desk, EMPTY, before, entry, read_all},
    named,
    samples::*,
};
use crate::{Batch, Cutoffs, Loaded, PoolJobFilter};
use muster_model::{
    AssignmentRecord, AssignmentState, Key, PoolChange, PoolCounters, PoolJobId, PoolJobRecord, PoolWorkerId,
    PoolWorkerRecord, PoolWorkerStatus, Specs, Timestamp,
};

named![
    a_later_row_of_the_pool_replaces_an_earlier_one,
    a_worker_of_the_pool_can_lose_what_it_had,
    no_specs_leave_the_specs,
    an_assignment_that_was_handed_in_keeps_its_result,
    an_assignment_that_was_not_has_none,
    a_sighting_moves_last_seen_at_forward_only,
    a_sighting_leaves_a_ban,
    what_was_seen_stays_seen,
    a_large_batch_of_jobs_is_kept_whole,
    a_batch_of_the_pool_that_cannot_be_kept_leaves_no_trace,
    an_old_job_of_the_pool_goes_with_its_assignments,
    open_and_young_jobs_of_the_pool_stay,
    a_job_that_was_open_for_long_goes_later,
    one_call_deletes_a_bounded_number_of_jobs,
    keys_of_the_pool_have_a_cutoff_of_their_own,
    the_counters_outlive_their_jobs,
    workers_of_the_pool_stay,
];

fn a_later_row_of_the_pool_replaces_an_earlier_one(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let started = AssignmentRecord { state: AssignmentState::Started, ..assignment(1, 1) };
    let banned = PoolWorkerRecord { status: PoolWorkerStatus::Banned, ..worker(1) };
    // Once in one batch, once over several.
    desk.commit([changed(assignment(1, 1)), changed(worker(1)), changed(started), changed(banned.clone())]);
    desk.commit([changed(assignment(2, 1))]);
    desk.commit([changed(done(2, 1)), changed(done(1, 1))]);
    let desk = desk.reopen(fixture);
    assert_eq!(read_worker(&desk, 1), banned);
    assert_eq!(read_assignments(desk.reader().as_ref(), 1), [done(1, 1)]);
    assert_eq!(read_assignments(desk.reader().as_ref(), 2), [done(2, 1)]);
}

fn a_worker_of_the_pool_can_lose_what_it_had(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let full = PoolWorkerRecord {
        region: Some("eu".into()),
        public_key: Some("key".into()),
        ban_reason: Some("reason".into()),
        dissents: 3,
        ..worker(1)
    };
    let bare = PoolWorkerRecord { specs: Specs::default(), ..worker(1) };
    desk.commit([changed(full)]);
    desk.commit([changed(bare.clone())]);
    assert_eq!(read_worker(&desk, 1), bare);
}

fn no_specs_leave_the_specs(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let without = |slots| changed(PoolWorkerRecord { slots, specs_json: None, ..worker(1) });
    desk.commit([changed(worker(1)), without(2)]);
    assert_eq!(read_worker(&desk, 1), PoolWorkerRecord { slots: 2, ..worker(1) });
    desk.commit([without(3), without(4)]);
    assert_eq!(read_worker(&desk, 1), PoolWorkerRecord { slots: 4, ..worker(1) });
}

/// P17: memory forgets results; what it writes later takes none away.
fn an_assignment_that_was_handed_in_keeps_its_result(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let later = |n| AssignmentRecord { ended_at: Some(Timestamp(9)), ..done(1, n) };
    desk.commit([changed(done(1, 1)), changed(without_result(later(1))), changed(done(1, 2))]);
    desk.commit([changed(without_result(later(2)))]);
    let desk = desk.reopen(fixture);
    assert_eq!(read_assignments(desk.reader().as_ref(), 1), [later(1), later(2)]);
}

fn an_assignment_that_was_not_has_none(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(done(1, 1)), changed(assignment(1, 1)), changed(done(1, 2))]);
    desk.commit([changed(assignment(1, 2)), changed(without_result(done(1, 3)))]);
    let read = read_assignments(desk.reader().as_ref(), 1);
    assert_eq!(read, [assignment(1, 1), assignment(1, 2), without_result(done(1, 3))]);
}

fn sight(desk: &mut Desk, worker: u64, at: i64) {
    let pool_sightings = vec![(PoolWorkerId(worker), Timestamp(at))];
    desk.try_commit(&Batch { pool_sightings, ..Batch::default() }).expect("the batch is kept");
}

/// P12: `last_seen_at` is what is written.
fn a_sighting_moves_last_seen_at_forward_only(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let unseen = PoolWorkerRecord { last_seen: None, ..worker(1) };
    desk.commit([changed(unseen.clone()), changed(worker(2))]);
    for (at, expected) in [(5_000, 5_000), (7_000, 7_000), (6_000, 7_000)] {
        sight(&mut desk, 1, at);
        let seen = PoolWorkerRecord { last_seen: Some(Timestamp(expected)), ..unseen.clone() };
        assert_eq!(read_worker(&desk, 1), seen);
    }
    sight(&mut desk, 99, 5_000);
    assert_eq!(read_all(9, |page| desk.reader().pool_workers(None, page)).len(), 2, "strangers are nothing");
    let changes = vec![changed(worker(3))];
    let pool_sightings = vec![(PoolWorkerId(3), Timestamp(20)), (PoolWorkerId(3), Timestamp(15))];
    desk.try_commit(&Batch { changes, pool_sightings, ..Batch::default() }).expect("the batch is kept");
    assert_eq!(read_worker(&desk, 3).last_seen, Some(Timestamp(20)));
}

/// P5: a banned one stays banned.
fn a_sighting_leaves_a_ban(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let banned = PoolWorkerRecord { status: PoolWorkerStatus::Banned, ..worker(1) };
    desk.commit([changed(banned.clone())]);
    sight(&mut desk, 1, 5_000);
    assert_eq!(read_worker(&desk, 1), PoolWorkerRecord { last_seen: Some(Timestamp(5_000)), ..banned });
}

/// P12: no value of `last_seen_at` is lost to a row that knows of an older one.
fn what_was_seen_stays_seen(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(worker(1))]);
    sight(&mut desk, 1, 5_000);
    for last_seen in [None, Some(Timestamp(10))] {
        desk.commit([changed(PoolWorkerRecord { last_seen, ..worker(1) })]);
        assert_eq!(read_worker(&desk, 1).last_seen, Some(Timestamp(5_000)));
    }
    desk.commit([changed(PoolWorkerRecord { last_seen: Some(Timestamp(6_000)), ..worker(1) })]);
    assert_eq!(read_worker(&desk, 1).last_seen, Some(Timestamp(6_000)));
}

/// P18
fn a_large_batch_of_jobs_is_kept_whole(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=3_000).flat_map(|id| [changed(job(id)), changed(done(id, 1)), changed(end(id, 5))]));
    let desk = desk.reopen(fixture);
    let all = read_all(999, |page| desk.reader().pool_jobs(&PoolJobFilter::default(), page));
    assert_eq!(all.len(), 3_000);
    assert!(all.iter().zip((1..=3_000).rev()).all(|(view, id)| {
        view.job == job(id) && view.end == Some(end(id, 5)) && view.result == Some(done(id, 1))
    }));
}

fn a_batch_of_the_pool_that_cannot_be_kept_leaves_no_trace(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(worker(1))]);
    let changes = vec![
        changed(PoolWorkerRecord { slots: 9, ..worker(1) }),
        changed(worker(2)),
        changed(job(1)),
        changed(done(1, 1)),
        changed(end(1, 5)),
        changed(key(CLIENT, "k", 5)),
        changed(PoolCounters { next_worker: 9, next_job: 9, oldest_open: 9 }),
    ];
    let pool_sightings = vec![(PoolWorkerId(1), Timestamp(5_000))];
    // A feed with a hole in it is refused.
    let batch = Batch { changes, pool_sightings, feed: vec![entry(1), entry(3)], ..Batch::default() };
    assert!(desk.try_commit(&batch).is_err());
    let mut desk = desk.reopen(fixture);
    assert_eq!(desk.load().len(), EMPTY + 1, "as before");
    assert_eq!(read_worker(&desk, 1), worker(1));
    assert_eq!(desk.reader().pool_job(PoolJobId(1)).expect("it is read"), None);
    for key in [
        Key::PoolEnd(PoolJobId(1)),
        Key::Assignment(done(1, 1).id),
        Key::PoolSubmission(CLIENT, submission_key("k")),
    ] {
        assert_eq!(desk.fact(key), None);
    }
}

/// The jobs there are, newest first.
fn jobs(desk: &Desk) -> Vec<u64> {
    let views = read_all(500, |page| desk.reader().pool_jobs(&PoolJobFilter::default(), page));
    views.iter().map(|view| view.job.id.0).collect()
}

fn an_old_job_of_the_pool_goes_with_its_assignments(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    for id in 1..=4 {
        desk.commit([changed(job(id)), changed(done(id, 1)), changed(assignment(id, 63))]);
        desk.commit([changed(end(id, 10 * id.cast_signed()))]);
    }
    // The cutoff itself is young.
    desk.prune(&before(30));
    for id in 1..=4 {
        let kept = id >= 3;
        assert_eq!(desk.reader().pool_job(PoolJobId(id)).expect("it is read").is_some(), kept);
        assert_eq!(read_assignments(desk.reader().as_ref(), id).len(), if kept { 2 } else { 0 });
        assert_eq!(desk.fact(Key::PoolEnd(PoolJobId(id))).is_some(), kept);
        assert_eq!(desk.fact(Key::Assignment(done(id, 1).id)).is_some(), kept);
    }
    assert_eq!(jobs(&desk), [4, 3]);
}

fn open_and_young_jobs_of_the_pool_stay(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=9).flat_map(|id| [changed(job(id)), changed(done(id, 1))]));
    // Every third is open, every third young.
    desk.commit([1, 4, 7].map(|id| changed(end(id, 5))));
    desk.commit([2, 5, 8].map(|id| changed(end(id, 5_000))));
    desk.prune(&before(1_000));
    assert_eq!(jobs(&desk), [9, 8, 6, 5, 3, 2]);
    assert_eq!(read_assignments(desk.reader().as_ref(), 2), [done(2, 1)]);
    assert_eq!(read_assignments(desk.reader().as_ref(), 4), []);
}

/// It is in nobody's way until then, and is found although younger ones are long gone.
fn a_job_that_was_open_for_long_goes_later(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let aged = |id: u64| PoolJobRecord { created_at: Timestamp(id.cast_signed()), ..job(id) };
    desk.commit((1..=5_000).map(|id| changed(aged(id))));
    desk.commit((2..=5_000).map(|id| changed(end(id, id.cast_signed() + 1))));
    desk.prune(&before(4_000));
    assert_eq!((jobs(&desk).len(), jobs(&desk).last()), (1_003, Some(&1)));
    desk.commit([changed(end(1, 4_500))]);
    desk.prune(&before(4_500));
    assert_eq!(jobs(&desk).last(), Some(&1));
    desk.prune(&before(4_501));
    assert_eq!((jobs(&desk).len(), jobs(&desk).last()), (501, Some(&4_500)));
}

fn one_call_deletes_a_bounded_number_of_jobs(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=5_000).flat_map(|id| [changed(job(id)), changed(end(id, 5))]));
    assert!(desk.term.writer.prune(&before(1_000)).expect("old rows are deleted"), "more remains");
    let left = jobs(&desk).len();
    assert!(left > 0 && left < 5_000, "{left}");
    assert!(desk.prune(&before(1_000)) > 1);
    assert_eq!(jobs(&desk), [0; 0]);
}

/// P13
fn keys_of_the_pool_have_a_cutoff_of_their_own(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([10, 20, 30].map(|at| changed(key(CLIENT, &format!("k{at}"), at))));
    desk.prune(&Cutoffs { history: Timestamp(1_000), report_ids: Timestamp(1_000), keys: Timestamp(20) });
    let mut kept = |text| desk.fact(Key::PoolSubmission(CLIENT, submission_key(text))).is_some();
    assert_eq!(["k10", "k20", "k30"].map(&mut kept), [false, true, true]);
}

fn the_counters_outlive_their_jobs(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let counters = PoolCounters { next_worker: 5, next_job: 8, oldest_open: 8 };
    desk.commit([changed(job(7)), changed(end(7, 5)), changed(counters)]);
    desk.prune(&before(1_000));
    let mut desk = desk.reopen(fixture);
    let loaded = desk.load();
    let told =
        |loaded: &Loaded| matches!(loaded, Loaded::Pool(PoolChange::Counters(told)) if *told == counters);
    assert!(loaded.iter().any(told), "{loaded:?}");
}

fn workers_of_the_pool_stay(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(worker(1))]);
    desk.prune(&before(1_000));
    assert_eq!(read_worker(&desk, 1), worker(1));
}
