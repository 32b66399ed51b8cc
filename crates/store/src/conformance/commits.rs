//! A batch is kept whole or not at all, and only the newest term writes.

use super::samples::*;
use crate::{
    Batch, Loaded, StoreError, TaskFilter,
    conformance::{
        desk::{Desk, EMPTY, before},
        loaded, named,
    },
};
use muster_model::{
    Change, JobPayload, JobRecord, JobStatus, Key, LaneRecord, SecretRecord, ShareRecord, TaskRecord,
    TaskStatus, Timestamp, WorkerRecord,
};

named![
    a_later_row_replaces_an_earlier_one_of_its_batch,
    a_later_batch_replaces_rows,
    a_row_can_lose_what_it_had,
    no_payload_leaves_the_payload,
    no_payload_leaves_the_payload_of_its_own_batch,
    a_payload_can_be_replaced,
    a_share_that_is_gone_is_loaded_no_more,
    a_share_can_come_again,
    a_stop_is_told_until_it_is_gone,
    secrets_are_replaced_as_a_whole,
    a_sighting_moves_last_seen_forward_only,
    a_sighting_of_a_stranger_is_nothing,
    an_empty_batch_is_kept,
    a_large_batch_is_kept_whole,
    a_batch_that_cannot_be_kept_leaves_no_trace,
    the_epoch_counts_up,
    the_epoch_counts_up_over_restarts,
    an_older_term_cannot_commit,
    an_older_term_cannot_prune,
    a_newer_term_sees_what_the_older_one_kept,
    a_term_is_told_how_far_the_feed_is,
    an_empty_batch_of_an_older_term_is_refused_too,
];

fn a_later_row_replaces_an_earlier_one_of_its_batch(desk: &mut Desk) {
    desk.commit([
        changed(task(1, 2)),
        changed(task(1, 1)),
        changed(lane("a", "PC-01")),
        changed(worker("PC-01")),
        changed(job(1)),
        changed(ended_task(1, 2, 5)),
        changed(LaneRecord { failed: true, ..lane("a", "PC-02") }),
        changed(WorkerRecord { draining: true, ..worker("PC-01") }),
        changed(closed_job(1, 6)),
        changed(TaskRecord { attempt: 2, ..task(1, 1) }),
    ]);
    let reader = desk.reader();
    assert_eq!(reader.task(task_id(1, 2)).expect("it is read"), Some(ended_task(1, 2, 5)));
    assert_eq!(reader.task(task_id(1, 1)).expect("it is read").map(|task| task.attempt), Some(2));
    assert_eq!(reader.lane(&name("a")).expect("it is read").map(|lane| lane.worker), Some(name("PC-02")));
    assert!(reader.worker_record(&name("PC-01")).expect("it is read").is_some_and(|worker| worker.draining));
    assert_eq!(reader.job(job_id(1)).expect("it is read"), Some(closed_job(1, 6)));
}

fn a_later_batch_replaces_rows(desk: &mut Desk) {
    desk.commit([changed(task(1, 1)), changed(job(1))]);
    desk.commit([changed(ended_task(1, 1, 5)), changed(closed_job(1, 6))]);
    assert_eq!(desk.reader().task(task_id(1, 1)).expect("it is read"), Some(ended_task(1, 1, 5)));
    assert_eq!(desk.reader().job(job_id(1)).expect("it is read"), Some(closed_job(1, 6)));
}

fn a_row_can_lose_what_it_had(desk: &mut Desk) {
    let at = Some(Timestamp(9));
    desk.commit([
        changed(TaskRecord { error: Some("x".into()), lease_until: at, timeout_at: at, ..task(1, 1) }),
        changed(LaneRecord { offline_since: at, note: Some("x".into()), ..lane("a", "PC-01") }),
        changed(WorkerRecord { cap: Some(3), paused_until: at, ..worker("PC-01") }),
    ]);
    desk.commit([changed(task(1, 1)), changed(lane("a", "PC-01")), changed(worker("PC-01"))]);
    assert_eq!(desk.reader().task(task_id(1, 1)).expect("it is read"), Some(task(1, 1)));
    assert_eq!(desk.reader().lane(&name("a")).expect("it is read"), Some(lane("a", "PC-01")));
    assert_eq!(desk.reader().worker_record(&name("PC-01")).expect("it is read"), Some(worker("PC-01")));
}

fn without_payload(status: JobStatus) -> Change {
    changed(JobRecord { payload: None, status, ..job(1) })
}

fn read_job(desk: &Desk) -> JobRecord {
    desk.reader().job(job_id(1)).expect("it is read").expect("it is there")
}

fn no_payload_leaves_the_payload(desk: &mut Desk) {
    desk.commit([changed(job(1))]);
    desk.commit([without_payload(JobStatus::Pending)]);
    assert_eq!(read_job(desk), JobRecord { status: JobStatus::Pending, ..job(1) });
}

fn no_payload_leaves_the_payload_of_its_own_batch(desk: &mut Desk) {
    desk.commit([changed(job(1)), without_payload(JobStatus::Pending), without_payload(JobStatus::Failed)]);
    assert_eq!(read_job(desk), JobRecord { status: JobStatus::Failed, ..job(1) });
}

fn a_payload_can_be_replaced(desk: &mut Desk) {
    let other = JobPayload { title: None, workflow: "other".into(), timeout: None, ..payload() };
    desk.commit([changed(job(1)), changed(JobRecord { payload: Some(other.clone()), ..job(1) })]);
    assert_eq!(read_job(desk).payload, Some(other));
}

fn loaded_shares(desk: &mut Desk) -> Vec<ShareRecord> {
    loaded!(desk, Loaded::Share(share) => share)
}

fn gone(worker: &str, job: u64) -> Change {
    Change::ShareGone { worker: name(worker), job: job_id(job) }
}

fn a_share_that_is_gone_is_loaded_no_more(desk: &mut Desk) {
    desk.commit([changed(share("PC-01", 1)), changed(share("PC-01", 2)), changed(share("PC-02", 1))]);
    desk.commit([gone("PC-01", 1), gone("PC-03", 1)]);
    assert_eq!(loaded_shares(desk), [share("PC-01", 2), share("PC-02", 1)]);
}

fn a_share_can_come_again(desk: &mut Desk) {
    desk.commit([changed(share("PC-01", 1)), gone("PC-01", 1), changed(share("PC-01", 1))]);
    assert_eq!(loaded_shares(desk), [share("PC-01", 1)]);
    desk.commit([gone("PC-01", 1), changed(share("PC-01", 1)), gone("PC-01", 1)]);
    assert_eq!(loaded_shares(desk), []);
}

fn stop(worker: &str, ordinal: u32, gone: bool) -> Change {
    Change::Stop { worker: name(worker), task: task_id(1, ordinal), gone }
}

fn a_stop_is_told_until_it_is_gone(desk: &mut Desk) {
    let stops = |desk: &mut Desk| loaded!(desk, Loaded::Stop(worker, task) => (worker, task));
    desk.commit([stop("PC-01", 1, false), stop("PC-01", 1, false), stop("PC-02", 1, false)]);
    desk.commit([stop("PC-01", 2, false), stop("PC-01", 3, false), stop("PC-01", 3, true)]);
    desk.reopen();
    let (first, second) = (task_id(1, 1), task_id(1, 2));
    assert_eq!(stops(desk), [(name("PC-01"), first), (name("PC-01"), second), (name("PC-02"), first)]);
    desk.commit([
        stop("PC-01", 1, true),
        stop("PC-02", 9, true),
        stop("PC-01", 2, true),
        stop("PC-01", 2, false),
    ]);
    assert_eq!(stops(desk), [(name("PC-01"), second), (name("PC-02"), first)]);
}

fn secrets_are_replaced_as_a_whole(desk: &mut Desk) {
    let secret = |byte| SecretRecord { hash: [byte; 32], valid_until: None };
    let count = |desk: &mut Desk| loaded!(desk, Loaded::Secrets(worker, secrets) => (worker, secrets));
    desk.commit([Change::Secrets(name("PC-01"), vec![secret(1), secret(2)])]);
    desk.commit([Change::Secrets(name("PC-01"), vec![secret(3)])]);
    assert_eq!(count(desk), [(name("PC-01"), vec![secret(3)])]);
    desk.commit([Change::Secrets(name("PC-01"), vec![])]);
    assert_eq!(count(desk), []);
}

fn sight(desk: &mut Desk, worker: &str, at: i64, changes: Vec<Change>) -> Option<i64> {
    let sightings = vec![(name(worker), Timestamp(at))];
    desk.try_commit(&Batch { changes, sightings, ..Batch::default() }).expect("the batch is kept");
    desk.reader().worker_record(&name(worker)).expect("it is read").map(|worker| worker.last_seen.0)
}

fn a_sighting_moves_last_seen_forward_only(desk: &mut Desk) {
    assert_eq!(sight(desk, "PC-01", 5_000, vec![changed(worker("PC-01"))]), Some(5_000));
    assert_eq!(sight(desk, "PC-01", 7_000, vec![]), Some(7_000));
    assert_eq!(sight(desk, "PC-01", 6_000, vec![]), Some(7_000));
}

fn a_sighting_of_a_stranger_is_nothing(desk: &mut Desk) {
    assert_eq!(sight(desk, "PC-99", 5_000, vec![]), None);
}

fn an_empty_batch_is_kept(desk: &mut Desk) {
    desk.commit([]);
}

fn a_large_batch_is_kept_whole(desk: &mut Desk) {
    desk.commit((1..=5_000).map(|ordinal| changed(task(1, ordinal))));
    desk.reopen();
    let reader = desk.reader();
    let all = super::desk::read_all(999, |page| reader.tasks(job_id(1), &TaskFilter::default(), page));
    assert_eq!(all.len(), 5_000);
    assert!(all.iter().all(|task| task.status == TaskStatus::Running));
}

fn a_batch_that_cannot_be_kept_leaves_no_trace(desk: &mut Desk) {
    let changes = vec![
        changed(job(1)),
        changed(task(1, 1)),
        changed(worker("PC-01")),
        changed(report("r1", 5)),
        changed(key("k1", 5)),
    ];
    desk.refuse(Batch { changes, ..Batch::default() });
    assert_eq!(desk.load().len(), EMPTY, "as from an empty store");
    assert_eq!(desk.reader().job(job_id(1)).expect("it is read"), None);
    assert_eq!(desk.fact(Key::Report(report_id("r1"))), None);
    assert_eq!(desk.fact(Key::Submission(submission_key("k1"))), None);
    assert_eq!(desk.term.feed_seq, 0);
}

fn the_epoch_counts_up(desk: &mut Desk) {
    let next = desk.store.begin_term().expect("a term begins");
    assert_eq!(desk.term.epoch, 1);
    assert_eq!(next.epoch, 2);
}

fn the_epoch_counts_up_over_restarts(desk: &mut Desk) {
    assert_eq!(desk.reopen().reopen().term.epoch, 3);
}

fn an_older_term_cannot_commit(desk: &mut Desk) {
    let mut newer = desk.store.begin_term().expect("a term begins");
    let batch = Batch { changes: vec![changed(job(1))], ..Batch::default() };
    assert!(matches!(desk.try_commit(&batch), Err(StoreError::Superseded)));
    assert_eq!(desk.reader().job(job_id(1)).expect("it is read"), None);
    newer.writer.commit(&batch).expect("the newest term writes");
    assert!(matches!(desk.try_commit(&batch), Err(StoreError::Superseded)));
}

fn an_older_term_cannot_prune(desk: &mut Desk) {
    desk.commit([changed(closed_job(1, 5))]);
    let _newer = desk.store.begin_term().expect("a term begins");
    assert!(matches!(desk.term.writer.prune(&before(100)), Err(StoreError::Superseded)));
    assert!(desk.reader().job(job_id(1)).expect("it is read").is_some());
}

fn a_newer_term_sees_what_the_older_one_kept(desk: &mut Desk) {
    desk.commit([changed(job(1))]);
    desk.term = desk.store.begin_term().expect("a term begins");
    assert_eq!(desk.load().len(), EMPTY + 1, "the job is loaded");
}

fn a_term_is_told_how_far_the_feed_is(desk: &mut Desk) {
    assert_eq!(desk.term.feed_seq, 0);
    desk.feed(1..=3, vec![]);
    desk.feed(4..=4, vec![]);
    assert_eq!(desk.store.begin_term().expect("a term begins").feed_seq, 4);
    assert_eq!(desk.reopen().term.feed_seq, 4);
}

fn an_empty_batch_of_an_older_term_is_refused_too(desk: &mut Desk) {
    let _newer = desk.store.begin_term().expect("a term begins");
    assert!(matches!(desk.try_commit(&Batch::default()), Err(StoreError::Superseded)));
}
