//! What is old of the pool is deleted, a little at a time, and nothing else is.

use super::{
    Fixture,
    desk::{Desk, before, read_all},
    named,
    samples::*,
};
use crate::{Cutoffs, Loaded, PoolJobFilter};
use muster_model::{Key, PoolChange, PoolCounters, PoolJobId, PoolJobRecord, Timestamp};

named![
    an_old_job_of_the_pool_goes_with_its_assignments,
    open_and_young_jobs_of_the_pool_stay,
    a_job_that_was_open_for_long_goes_later,
    one_call_deletes_a_bounded_number_of_jobs,
    keys_of_the_pool_have_a_cutoff_of_their_own,
    the_counters_outlive_their_jobs,
    workers_of_the_pool_stay,
];

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
