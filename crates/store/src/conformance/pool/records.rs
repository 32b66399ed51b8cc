//! What is written of the pool is read back the same, also by whoever opens the data next.

use super::{Fixture, desk::Desk, named, samples::*};
use crate::PoolJobView;
use muster_model::{
    AssignmentRecord, AssignmentState, Demand, Millis, PoolEndRecord, PoolJobDraft, PoolJobId, PoolJobRecord,
    PoolJobStatus, PoolResult, PoolWorkerId, PoolWorkerRecord, PoolWorkerStatus, Specs, Timestamp, UserId,
};
use std::sync::Arc;

named![
    workers_of_the_pool_are_read_as_written,
    jobs_of_the_pool_are_read_as_written,
    assignments_are_read_as_written,
    results_are_read_as_written,
    a_job_is_read_with_what_came_of_it,
    the_result_of_a_job_is_that_of_the_assignment_its_end_names,
    payloads_come_in_the_order_asked_for,
    what_does_not_exist_in_the_pool_is_none,
];

/// P3, P12, P14: name, key, specs and the moment it was last seen.
fn workers_of_the_pool_are_read_as_written(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let full = PoolWorkerRecord {
        owner: UserId(0),
        status: PoolWorkerStatus::Banned,
        region: Some("eu'".into()),
        public_key: Some("any text \n".into()),
        slots: u32::MAX,
        draining: true,
        ban_reason: Some("밤".into()),
        agreements: u32::MAX,
        dissents: 3,
        ..worker(2)
    };
    let bare = PoolWorkerRecord {
        status: PoolWorkerStatus::Offline,
        specs: Specs::default(),
        specs_json: None,
        public_key: Some("".into()),
        last_seen: None,
        ..worker((1 << 53) - 1)
    };
    let all = [worker(1), full, bare];
    desk.commit(all.clone().map(changed));
    let desk = desk.reopen(fixture);
    for worker in all {
        assert_eq!(read_worker(&desk, worker.id.0), worker);
    }
}

fn demanding(id: u64) -> PoolJobRecord {
    let draft = PoolJobDraft {
        payload: "[\"기기 \\u0000 '\"]".into(),
        priority: 100,
        demand: Demand { region: Some("eu".into()), requires: specs() },
        requires_json: Some("{\"vram\": 24.5}".into()),
        max_attempts: Some(63),
        timeout: Some(Millis(1)),
        verify_output_hash: true,
        redundancy: 63,
    };
    PoolJobRecord { max_attempts: 63, draft, ..job(id) }
}

/// P13, P14
fn jobs_of_the_pool_are_read_as_written(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let all = [job(1), demanding(2), demanding(PoolJobId::MAX.0)];
    desk.commit(all.clone().map(changed));
    let desk = desk.reopen(fixture);
    for job in all {
        let view = desk.reader().pool_job(job.id).expect("it is read");
        assert_eq!(view, Some(PoolJobView { job, running: false, end: None, result: None }));
    }
}

fn assignments_are_read_as_written(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let states = AssignmentState::ALL.iter().zip(1..);
    let timed = |(state, n): (&AssignmentState, u8)| AssignmentRecord {
        state: *state,
        timeout_at: Some(Timestamp(9)),
        ended_at: Some(Timestamp(i64::from(n))),
        digest: Some([n; 32]),
        output_hash: Some("'".into()),
        vote: Some("\"".into()),
        ..assignment(5, n)
    };
    let all: Vec<AssignmentRecord> = states.map(timed).chain([assignment(5, 63)]).collect();
    desk.commit(all.iter().cloned().map(changed));
    // Its neighbours are others'.
    desk.commit([changed(assignment(4, 63)), changed(assignment(6, 1))]);
    let desk = desk.reopen(fixture);
    assert_eq!(read_assignments(desk.reader().as_ref(), 5), all);
    assert_eq!(read_assignments(desk.reader().as_ref(), 4), [assignment(4, 63)]);
}

/// P17: all that a receipt needs is kept with the result: key, signature, hash, nonce.
fn results_are_read_as_written(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let plain = PoolResult::clone(done(1, 1).result.as_ref().expect("it has a result"));
    let failed = PoolResult {
        assignment: assignment(1, 2).id,
        nonce: Some(assignment(1, 2).fence),
        output: None,
        output_hash: None,
        hash_matches: None,
        vote: None,
        error: Some("out of '메모리'".into()),
        artifact_uri: Some("file:///a".into()),
        metrics: Some("{\"s\": 1e3}".into()),
        ..plain
    };
    let failed = AssignmentRecord { state: AssignmentState::Failed, ..with(assignment(1, 2), failed) };
    let third = done(1, 3).result.map(|result| PoolResult { hash_matches: Some(true), ..(*result).clone() });
    let third = AssignmentRecord { result: third.map(Arc::new), ..done(1, 3) };
    let all = [done(1, 1), failed, third];
    desk.commit(all.clone().map(changed));
    let desk = desk.reopen(fixture);
    assert_eq!(read_assignments(desk.reader().as_ref(), 1), all);
}

fn status(desk: &Desk, job: u64) -> PoolJobStatus {
    desk.reader().pool_job(PoolJobId(job)).expect("it is read").expect("it is there").status()
}

/// P13: queued, running, completed, failed, cancelled.
fn a_job_is_read_with_what_came_of_it(fixture: &mut dyn Fixture) {
    use AssignmentState::{Expired, Started};
    use PoolJobStatus::{Cancelled, Completed, Failed, Queued, Running};
    let mut desk = Desk::open(fixture);
    desk.commit((1..=6).map(|id| changed(job(id))));
    desk.commit([
        changed(AssignmentRecord { state: Expired, ..assignment(2, 1) }),
        changed(AssignmentRecord { state: Expired, ..assignment(3, 1) }),
        changed(AssignmentRecord { state: Started, ..assignment(3, 2) }),
        changed(done(4, 1)),
        changed(end(4, 5)),
        changed(PoolEndRecord {
            status: Failed,
            assignment: None,
            error: Some("'no' majority".into()),
            ..end(5, 5)
        }),
        // Nobody is told that a job that is over is running.
        changed(assignment(6, 1)),
        changed(PoolEndRecord { status: Cancelled, assignment: None, ..end(6, 5) }),
    ]);
    let desk = desk.reopen(fixture);
    let statuses = [1, 2, 3, 4, 5, 6].map(|id| status(&desk, id));
    assert_eq!(statuses, [Queued, Queued, Running, Completed, Failed, Cancelled]);
    let view = |id| desk.reader().pool_job(PoolJobId(id)).expect("it is read").expect("it is there");
    assert_eq!((view(4).end, view(4).result), (Some(end(4, 5)), Some(done(4, 1))));
    assert_eq!(view(5).end.and_then(|end| end.error).as_deref(), Some("'no' majority"));
    assert!(!view(6).running && view(6).result.is_none());
}

fn the_result_of_a_job_is_that_of_the_assignment_its_end_names(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    let second = PoolEndRecord { assignment: Some(done(1, 2).id), ..end(1, 5) };
    desk.commit([changed(job(1)), changed(done(1, 1)), changed(done(1, 2)), changed(second)]);
    let view = desk.reader().pool_job(PoolJobId(1)).expect("it is read").expect("it is there");
    assert_eq!(view.result, Some(done(1, 2)));
}

fn payloads_come_in_the_order_asked_for(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit((1..=4).map(|id| changed(job(id))));
    desk.commit([changed(end(2, 5))]);
    let ids = [3, 9, 1, u64::MAX, 2, 3].map(PoolJobId);
    let payloads = desk.reader().pool_payloads(&ids).expect("they are read");
    assert_eq!(payloads, [3, 1, 2, 3].map(|id| (PoolJobId(id), job(id).draft.payload)));
}

fn what_does_not_exist_in_the_pool_is_none(fixture: &mut dyn Fixture) {
    let mut desk = Desk::open(fixture);
    desk.commit([changed(job(1)), changed(worker(1)), changed(assignment(1, 1))]);
    let reader = desk.reader();
    for id in [0, 2, PoolJobId::MAX.0, u64::MAX] {
        assert_eq!(reader.pool_job(PoolJobId(id)).expect("it is looked for"), None);
        assert_eq!(reader.pool_worker(PoolWorkerId(id)).expect("it is looked for"), None);
        assert_eq!(read_assignments(reader.as_ref(), id), []);
    }
}
