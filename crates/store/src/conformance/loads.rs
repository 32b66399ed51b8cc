//! A term begins with everything that is live, and nothing else.

use super::{Fixture, desk::Desk, named, samples::*};
use crate::Loaded;
use muster_model::{
    Change, FarmRecord, FrameChange, JobRecord, PoolChange, PoolCounters, SecretRecord, TaskStatus,
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
];

fn an_empty_store_loads_nothing(fixture: &mut dyn Fixture) {
    let loaded = Desk::open(fixture).load();
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
        Loaded::JobSeq(_) | Loaded::Frames(_) | Loaded::SessionSeq(_) => None,
        Loaded::Accounts(_) | Loaded::Pool(_) | Loaded::Schedule(_) => None,
    }
}

fn records_are_handed_over_in_order(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
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

fn open_jobs_come_oldest_first(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    // Ids sort against the ages here.
    let aged = |number: u64, seq| changed(JobRecord { seq, ..job(number) });
    desk.commit([aged(5, 2), aged(9, 1), aged(1, 3)]);
    assert_eq!(jobs_and_tasks(&mut desk).0, [1, 2, 3]);
}

fn closed_jobs_and_their_tasks_are_not_loaded(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(closed_job(1, 5)), changed(job(2)), changed(closed_job(3, 5))]);
    desk.commit((1..=3).flat_map(|job| [changed(ended_task(job, 1, 5)), changed(ended_task(job, 2, 5))]));
    let id = job_id(2).0;
    assert_eq!(jobs_and_tasks(&mut desk), (vec![2], vec![(id, 1), (id, 2)]));
}

fn ended_tasks_of_open_jobs_are_loaded(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(job(1)), changed(task(1, 1)), changed(ended_task(1, 2, 5))]);
    let statuses = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::Task(task) => Some(task.status),
        _ => None,
    });
    assert_eq!(statuses.collect::<Vec<_>>(), [TaskStatus::Running, TaskStatus::Completed]);
}

fn a_job_that_closes_is_loaded_no_more(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(job(1)), changed(task(1, 1))]);
    assert_eq!(jobs_and_tasks(&mut desk).0, [1]);
    desk.commit([changed(closed_job(1, 5)), changed(ended_task(1, 1, 5))]);
    assert_eq!(jobs_and_tasks(&mut desk), (vec![], vec![]));
}

fn the_largest_job_number_is_told(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(closed_job(7, 5)), changed(job(3))]);
    desk.commit([changed(job(5))]);
    let mut desk = desk.reopen(fixture);
    let told = desk.load().into_iter().filter_map(|loaded| match loaded {
        Loaded::JobSeq(seq) => Some(seq),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [7]);
}

fn loading_twice_gives_the_same(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(job(1)), changed(task(1, 1)), changed(worker("PC-01"))]);
    let (first, second) = (desk.load(), desk.load());
    assert_eq!(format!("{first:?}"), format!("{second:?}"));
}
