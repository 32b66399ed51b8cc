//! The pool: records come back as they were written, later rows replace earlier ones, and what is old is pruned.

use super::samples::*;
use crate::{
    Batch, Cutoffs, Loaded, PoolJobFilter, PoolJobView,
    conformance::{
        desk::{Desk, EMPTY, before, read_all},
        named,
    },
};
use muster_model::{
    AssignmentRecord, AssignmentState, BatchPlace, Demand, Key, Millis, PoolChange, PoolCounters,
    PoolEndRecord, PoolJobDraft, PoolJobId, PoolJobRecord, PoolJobStatus, PoolResult, PoolWorkerId,
    PoolWorkerRecord, PoolWorkerStatus, Specs, Timestamp, UserId,
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

/// P3, P12, P14: name, key, specs and the moment it was last seen.
fn workers_of_the_pool_are_read_as_written(desk: &mut Desk) {
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
    desk.reopen();
    for worker in all {
        assert_eq!(read_worker(desk, worker.id.0), worker);
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
fn jobs_of_the_pool_are_read_as_written(desk: &mut Desk) {
    let all = [job(1), demanding(2), demanding(PoolJobId::MAX.0)];
    desk.commit(all.clone().map(changed));
    desk.reopen();
    for job in all {
        let view = desk.reader().pool_job(job.id).expect("it is read");
        assert_eq!(view, Some(PoolJobView { job, running: false, end: None, result: None }));
    }
}

fn assignments_are_read_as_written(desk: &mut Desk) {
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
    desk.reopen();
    assert_eq!(read_assignments(desk.reader().as_ref(), 5), all);
    assert_eq!(read_assignments(desk.reader().as_ref(), 4), [assignment(4, 63)]);
}

/// P17, P20: all that a receipt needs is kept with the result: key, signature, hash, nonce, place in a batch.
fn results_are_read_as_written(desk: &mut Desk) {
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
    let batch = Some(BatchPlace { count: 1000, index: 999, path: [[7; 32], [0; 32]].into() });
    let third =
        done(1, 3).result.map(|result| PoolResult { hash_matches: Some(true), batch, ..(*result).clone() });
    let third = AssignmentRecord { result: third.map(Arc::new), ..done(1, 3) };
    let all = [done(1, 1), failed, third];
    desk.commit(all.clone().map(changed));
    desk.reopen();
    assert_eq!(read_assignments(desk.reader().as_ref(), 1), all);
}

fn status(desk: &Desk, job: u64) -> PoolJobStatus {
    desk.reader().pool_job(PoolJobId(job)).expect("it is read").expect("it is there").status()
}

/// P13: queued, running, completed, failed, cancelled.
fn a_job_is_read_with_what_came_of_it(desk: &mut Desk) {
    use AssignmentState::{Expired, Started};
    use PoolJobStatus::{Cancelled, Completed, Failed, Queued, Running};
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
        // A job that is over does not show as running, though a worker still holds an assignment.
        changed(assignment(6, 1)),
        changed(PoolEndRecord { status: Cancelled, assignment: None, ..end(6, 5) }),
    ]);
    desk.reopen();
    let statuses = [1, 2, 3, 4, 5, 6].map(|id| status(desk, id));
    assert_eq!(statuses, [Queued, Queued, Running, Completed, Failed, Cancelled]);
    let view = |id| desk.reader().pool_job(PoolJobId(id)).expect("it is read").expect("it is there");
    assert_eq!((view(4).end, view(4).result), (Some(end(4, 5)), Some(done(4, 1))));
    assert_eq!(view(5).end.and_then(|end| end.error).as_deref(), Some("'no' majority"));
    assert!(!view(6).running && view(6).result.is_none());
}

fn the_result_of_a_job_is_that_of_the_assignment_its_end_names(desk: &mut Desk) {
    let second = PoolEndRecord { assignment: Some(done(1, 2).id), ..end(1, 5) };
    desk.commit([changed(job(1)), changed(done(1, 1)), changed(done(1, 2)), changed(second)]);
    let view = desk.reader().pool_job(PoolJobId(1)).expect("it is read").expect("it is there");
    assert_eq!(view.result, Some(done(1, 2)));
}

fn payloads_come_in_the_order_asked_for(desk: &mut Desk) {
    desk.commit((1..=4).map(|id| changed(job(id))));
    desk.commit([changed(end(2, 5))]);
    let ids = [3, 9, 1, u64::MAX, 2, 3].map(PoolJobId);
    let payloads = desk.reader().pool_payloads(&ids).expect("they are read");
    assert_eq!(payloads, [3, 1, 2, 3].map(|id| (PoolJobId(id), job(id).draft.payload)));
}

fn what_does_not_exist_in_the_pool_is_none(desk: &mut Desk) {
    desk.commit([changed(job(1)), changed(worker(1)), changed(assignment(1, 1))]);
    let reader = desk.reader();
    for id in [0, 2, PoolJobId::MAX.0, u64::MAX] {
        assert_eq!(reader.pool_job(PoolJobId(id)).expect("it is looked for"), None);
        assert_eq!(reader.pool_worker(PoolWorkerId(id)).expect("it is looked for"), None);
        assert_eq!(read_assignments(reader.as_ref(), id), []);
    }
}

fn a_later_row_of_the_pool_replaces_an_earlier_one(desk: &mut Desk) {
    let started = AssignmentRecord { state: AssignmentState::Started, ..assignment(1, 1) };
    let banned = PoolWorkerRecord { status: PoolWorkerStatus::Banned, ..worker(1) };
    // Once in one batch, once over several.
    desk.commit([changed(assignment(1, 1)), changed(worker(1)), changed(started), changed(banned.clone())]);
    desk.commit([changed(assignment(2, 1))]);
    desk.commit([changed(done(2, 1)), changed(done(1, 1))]);
    desk.reopen();
    assert_eq!(read_worker(desk, 1), banned);
    assert_eq!(read_assignments(desk.reader().as_ref(), 1), [done(1, 1)]);
    assert_eq!(read_assignments(desk.reader().as_ref(), 2), [done(2, 1)]);
}

fn a_worker_of_the_pool_can_lose_what_it_had(desk: &mut Desk) {
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
    assert_eq!(read_worker(desk, 1), bare);
}

fn no_specs_leave_the_specs(desk: &mut Desk) {
    let without = |slots| changed(PoolWorkerRecord { slots, specs_json: None, ..worker(1) });
    desk.commit([changed(worker(1)), without(2)]);
    assert_eq!(read_worker(desk, 1), PoolWorkerRecord { slots: 2, ..worker(1) });
    desk.commit([without(3), without(4)]);
    assert_eq!(read_worker(desk, 1), PoolWorkerRecord { slots: 4, ..worker(1) });
}

/// P17: memory forgets results; what it writes later takes none away.
fn an_assignment_that_was_handed_in_keeps_its_result(desk: &mut Desk) {
    let later = |n| AssignmentRecord { ended_at: Some(Timestamp(9)), ..done(1, n) };
    desk.commit([changed(done(1, 1)), changed(without_result(later(1))), changed(done(1, 2))]);
    desk.commit([changed(without_result(later(2)))]);
    desk.reopen();
    assert_eq!(read_assignments(desk.reader().as_ref(), 1), [later(1), later(2)]);
}

fn an_assignment_that_was_not_has_none(desk: &mut Desk) {
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
fn a_sighting_moves_last_seen_at_forward_only(desk: &mut Desk) {
    let unseen = PoolWorkerRecord { last_seen: None, ..worker(1) };
    desk.commit([changed(unseen.clone()), changed(worker(2))]);
    for (at, expected) in [(5_000, 5_000), (7_000, 7_000), (6_000, 7_000)] {
        sight(desk, 1, at);
        let seen = PoolWorkerRecord { last_seen: Some(Timestamp(expected)), ..unseen.clone() };
        assert_eq!(read_worker(desk, 1), seen);
    }
    sight(desk, 99, 5_000);
    assert_eq!(read_all(9, |page| desk.reader().pool_workers(None, page)).len(), 2, "strangers are nothing");
    let changes = vec![changed(worker(3))];
    let pool_sightings = vec![(PoolWorkerId(3), Timestamp(20)), (PoolWorkerId(3), Timestamp(15))];
    desk.try_commit(&Batch { changes, pool_sightings, ..Batch::default() }).expect("the batch is kept");
    assert_eq!(read_worker(desk, 3).last_seen, Some(Timestamp(20)));
}

/// P5: a banned one stays banned.
fn a_sighting_leaves_a_ban(desk: &mut Desk) {
    let banned = PoolWorkerRecord { status: PoolWorkerStatus::Banned, ..worker(1) };
    desk.commit([changed(banned.clone())]);
    sight(desk, 1, 5_000);
    assert_eq!(read_worker(desk, 1), PoolWorkerRecord { last_seen: Some(Timestamp(5_000)), ..banned });
}

/// P12: no value of `last_seen_at` is lost to a row that knows of an older one.
fn what_was_seen_stays_seen(desk: &mut Desk) {
    desk.commit([changed(worker(1))]);
    sight(desk, 1, 5_000);
    for last_seen in [None, Some(Timestamp(10))] {
        desk.commit([changed(PoolWorkerRecord { last_seen, ..worker(1) })]);
        assert_eq!(read_worker(desk, 1).last_seen, Some(Timestamp(5_000)));
    }
    desk.commit([changed(PoolWorkerRecord { last_seen: Some(Timestamp(6_000)), ..worker(1) })]);
    assert_eq!(read_worker(desk, 1).last_seen, Some(Timestamp(6_000)));
}

/// P18
fn a_large_batch_of_jobs_is_kept_whole(desk: &mut Desk) {
    desk.commit((1..=3_000).flat_map(|id| [changed(job(id)), changed(done(id, 1)), changed(end(id, 5))]));
    desk.reopen();
    let all = read_all(999, |page| desk.reader().pool_jobs(&PoolJobFilter::default(), page));
    assert_eq!(all.len(), 3_000);
    assert!(all.iter().zip((1..=3_000).rev()).all(|(view, id)| {
        view.job == job(id) && view.end == Some(end(id, 5)) && view.result == Some(done(id, 1))
    }));
}

fn a_batch_of_the_pool_that_cannot_be_kept_leaves_no_trace(desk: &mut Desk) {
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
    desk.refuse(Batch { changes, pool_sightings, ..Batch::default() });
    assert_eq!(desk.load().len(), EMPTY + 1, "as before");
    assert_eq!(read_worker(desk, 1), worker(1));
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

fn an_old_job_of_the_pool_goes_with_its_assignments(desk: &mut Desk) {
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
    assert_eq!(jobs(desk), [4, 3]);
}

fn open_and_young_jobs_of_the_pool_stay(desk: &mut Desk) {
    desk.commit((1..=9).flat_map(|id| [changed(job(id)), changed(done(id, 1))]));
    // Every third is open, every third young.
    desk.commit([1, 4, 7].map(|id| changed(end(id, 5))));
    desk.commit([2, 5, 8].map(|id| changed(end(id, 5_000))));
    desk.prune(&before(1_000));
    assert_eq!(jobs(desk), [9, 8, 6, 5, 3, 2]);
    assert_eq!(read_assignments(desk.reader().as_ref(), 2), [done(2, 1)]);
    assert_eq!(read_assignments(desk.reader().as_ref(), 4), []);
}

/// It is in nobody's way until then, and is found although younger ones are long gone.
fn a_job_that_was_open_for_long_goes_later(desk: &mut Desk) {
    let aged = |id: u64| PoolJobRecord { created_at: Timestamp(id.cast_signed()), ..job(id) };
    desk.commit((1..=5_000).map(|id| changed(aged(id))));
    desk.commit((2..=5_000).map(|id| changed(end(id, id.cast_signed() + 1))));
    desk.prune(&before(4_000));
    assert_eq!((jobs(desk).len(), jobs(desk).last()), (1_003, Some(&1)));
    desk.commit([changed(end(1, 4_500))]);
    desk.prune(&before(4_500));
    assert_eq!(jobs(desk).last(), Some(&1));
    desk.prune(&before(4_501));
    assert_eq!((jobs(desk).len(), jobs(desk).last()), (501, Some(&4_500)));
}

fn one_call_deletes_a_bounded_number_of_jobs(desk: &mut Desk) {
    desk.commit((1..=5_000).flat_map(|id| [changed(job(id)), changed(end(id, 5))]));
    assert!(desk.term.writer.prune(&before(1_000)).expect("old rows are deleted"), "more remains");
    let left = jobs(desk).len();
    assert!(left > 0 && left < 5_000, "{left}");
    assert!(desk.prune(&before(1_000)) > 1);
    assert_eq!(jobs(desk), [0; 0]);
}

/// P13
fn keys_of_the_pool_have_a_cutoff_of_their_own(desk: &mut Desk) {
    desk.commit([10, 20, 30].map(|at| changed(key(CLIENT, &format!("k{at}"), at))));
    desk.prune(&Cutoffs { history: Timestamp(1_000), report_ids: Timestamp(1_000), keys: Timestamp(20) });
    let mut kept = |text| desk.fact(Key::PoolSubmission(CLIENT, submission_key(text))).is_some();
    assert_eq!(["k10", "k20", "k30"].map(&mut kept), [false, true, true]);
}

fn the_counters_outlive_their_jobs(desk: &mut Desk) {
    let counters = PoolCounters { next_worker: 5, next_job: 8, oldest_open: 8 };
    desk.commit([changed(job(7)), changed(end(7, 5)), changed(counters)]);
    desk.prune(&before(1_000));
    desk.reopen();
    let loaded = desk.load();
    let told =
        |loaded: &Loaded| matches!(loaded, Loaded::Pool(PoolChange::Counters(told)) if *told == counters);
    assert!(loaded.iter().any(told), "{loaded:?}");
}

fn workers_of_the_pool_stay(desk: &mut Desk) {
    desk.commit([changed(worker(1))]);
    desk.prune(&before(1_000));
    assert_eq!(read_worker(desk, 1), worker(1));
}
