//! Lists of the pool are read in pages: nothing twice, nothing missing.

use super::{
    Fixture,
    desk::{Desk, read_all},
    named,
    samples::*,
};
use crate::{Cursor, POOL_JOBS_LOOKED_AT, PoolJobFilter};
use muster_model::{
    AssignmentRecord, AssignmentState, PoolCounters, PoolEndRecord, PoolJobId, PoolJobRecord, PoolJobStatus,
    PoolWorkerRecord, Timestamp, UserId,
};

named![
    jobs_of_the_pool_come_newest_first_in_pages,
    jobs_of_the_pool_are_filtered,
    a_job_that_is_rare_is_found_among_many,
    workers_of_the_pool_come_by_number_in_pages,
    workers_of_the_pool_are_filtered,
    a_cursor_nobody_gave_is_an_empty_page_of_the_pool_too,
    a_cursor_of_the_pools_other_list_is_an_empty_page,
    the_oldest_job_that_nobody_has_is_found,
];

const SIZES: [u32; 5] = [1, 2, 3, 7, 100];

fn jobs_of_the_pool_come_newest_first_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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
fn jobs_of_the_pool_are_filtered(fixture: &mut dyn Fixture) {
    use PoolJobStatus::{Cancelled, Completed, Failed, Queued, Running};
    let mut desk = Desk::open(fixture);
    desk.commit((1..=9).map(|id| changed(PoolJobRecord { client: UserId(id % 2), ..job(id) })));
    let expired = AssignmentRecord { state: AssignmentState::Expired, ..assignment(7, 1) };
    desk.commit([changed(end(1, 5)), changed(end(2, 5)), changed(assignment(6, 1)), changed(expired)]);
    desk.commit([changed(PoolEndRecord { status: Failed, ..end(3, 5) }), changed(assignment(9, 63))]);
    desk.commit([changed(PoolEndRecord { status: Cancelled, ..end(4, 5) })]);
    desk.commit([changed(PoolCounters { next_worker: 1, next_job: 10, oldest_open: 5 })]);
    assert_eq!(ids(&desk, None, None), [9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(ids(&desk, Some(1), None), [9, 7, 5, 3, 1]);
    let by_status =
        [Queued, Running, Completed, Failed, Cancelled].map(|status| ids(&desk, None, Some(status)));
    assert_eq!(by_status, [vec![8, 7, 5], vec![9, 6], vec![2, 1], vec![3], vec![4]]);
    assert_eq!(ids(&desk, Some(0), Some(Completed)), [2]);
    assert_eq!(ids(&desk, Some(1), Some(Queued)), [7, 5]);
    assert_eq!(ids(&desk, Some(5), None), [0; 0]);
}

/// A page may be short, or empty, and still have a next.
fn a_job_that_is_rare_is_found_among_many(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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

fn workers_of_the_pool_come_by_number_in_pages(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=12).rev().map(|id| changed(worker(id))));
    let reader = desk.reader();
    for size in SIZES {
        let read = read_all(size, |page| reader.pool_workers(None, page));
        assert_eq!(read, (1..=12).map(worker).collect::<Vec<_>>());
    }
}

/// P4: an owner sees its own.
fn workers_of_the_pool_are_filtered(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=6).map(|id| changed(PoolWorkerRecord { owner: UserId(id % 2), ..worker(id) })));
    desk.commit([changed(PoolWorkerRecord { owner: UserId(0), ..worker(5) })]);
    let of = |owner| -> Vec<u64> {
        let workers = read_all(1, |page| desk.reader().pool_workers(Some(UserId(owner)), page));
        workers.iter().map(|worker| worker.id.0).collect()
    };
    assert_eq!([0, 1, 2].map(of), [vec![2, 4, 5, 6], vec![1, 3], vec![]]);
}

/// How many items a page of each list has, and where the next begins.
fn found(desk: &Desk, after: Option<&str>, limit: u32) -> [(usize, Option<String>); 2] {
    let page = &Cursor { after: after.map(str::to_owned), limit };
    let jobs = desk.reader().pool_jobs(&PoolJobFilter::default(), page).expect("a page is read");
    let workers = desk.reader().pool_workers(None, page).expect("a page is read");
    [(jobs.items.len(), jobs.next), (workers.items.len(), workers.next)]
}

fn filled(fixture: &mut dyn Fixture) -> Desk {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=3).flat_map(|id| [changed(job(id)), changed(worker(id))]));
    desk
}

fn a_cursor_nobody_gave_is_an_empty_page_of_the_pool_too(fixture: &mut dyn Fixture) {
    let desk = filled(fixture);
    for text in ["", "2", "-1", "' OR 1=1 --", "\0", ":", "pool_jobs:", "pool_jobs:-1", "workers:x", "jobs:2"]
    {
        assert_eq!(found(&desk, Some(text), 2), [const { (0, None) }; 2], "{text}");
    }
    let full = found(&desk, None, 0);
    assert!(full.iter().all(|(items, next)| *items == 1 && next.is_some()), "a page holds at least one item");
}

fn a_cursor_of_the_pools_other_list_is_an_empty_page(fixture: &mut dyn Fixture) {
    let desk = filled(fixture);
    for (place, (_, next)) in found(&desk, None, 1).into_iter().enumerate() {
        let mut expected = [const { (0, None) }; 2];
        expected[place] = (2, None);
        assert_eq!(found(&desk, next.as_deref(), 2), expected, "{next:?}");
    }
}

fn the_oldest_job_that_nobody_has_is_found(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let oldest = |desk: &Desk| desk.reader().backlog().expect("it is read").oldest_pool_job;
    let waiting = |id: u64| Some((PoolJobId(id), Timestamp(1)));
    assert_eq!(oldest(&desk), None);
    desk.commit((2..=5).map(|id| changed(job(id))));
    desk.commit([changed(PoolCounters { next_worker: 1, next_job: 6, oldest_open: 2 })]);
    assert_eq!(oldest(&desk), waiting(2));
    let expired = AssignmentRecord { state: AssignmentState::Expired, ..assignment(4, 1) };
    desk.commit([changed(end(2, 5)), changed(assignment(3, 1)), changed(expired)]);
    assert_eq!(oldest(&desk), waiting(4), "the second ended, somebody has the third");
    desk.commit([changed(end(4, 5)), changed(end(5, 5)), changed(job(3 + POOL_JOBS_LOOKED_AT))]);
    assert_eq!(oldest(&desk), None, "a bounded number is looked at");
    desk.commit([changed(PoolCounters { next_worker: 1, next_job: 6, oldest_open: 4 })]);
    assert_eq!(oldest(&desk), waiting(3 + POOL_JOBS_LOOKED_AT));
}
