//! Batches for the tests of a single store: enough to see that something was written.

use super::{
    frames::samples as frames,
    samples::{changed, job_id, log, task, worker},
};
use crate::Batch;
use muster_model::{
    ChunkRecord, EntryId, FrameTaskId, FrameTaskRecord, FrameTaskStatus, JobId, JobRecord, LogKind,
    LogRecord, QuarantineRecord, RendererRecord, RendererState, SessionId, SessionRecord, TaskId, TaskRecord,
    Timestamp, WorkerRecord,
};

/// The time of everything in these batches.
pub const AT: Timestamp = Timestamp(1_760_000_000_000);

/// The job of [`batch`].
#[must_use]
pub fn job() -> JobId {
    job_id(7)
}

/// An open job and so many tasks of it.
#[must_use]
pub fn batch(first: u32, count: u32) -> Batch {
    let job = JobRecord { id: job(), created_at: AT, payload: None, ..super::samples::job(1) };
    let tasks = (first..first + count).map(|ordinal| {
        let lease_until = Some(Timestamp(AT.0 + 1));
        changed(TaskRecord { lease_until, created_at: AT, ..task(7, ordinal) })
    });
    Batch { changes: std::iter::once(changed(job)).chain(tasks).collect(), ..Batch::default() }
}

/// The first task of [`job`], with a line of each kind in its log (Q12).
#[must_use]
pub fn logged() -> Batch {
    let id = TaskId { job: job(), ordinal: 1 };
    let line =
        |(seq, kind)| changed(LogRecord { message: Some("\\ \"끝\"".into()), at: AT, ..log(id, seq, kind) });
    let lines = (1..).zip(LogKind::ALL).map(line);
    Batch { changes: lines.chain([changed(task(7, 1))]).collect(), ..Batch::default() }
}

/// A worker.
#[must_use]
pub fn worker_batch(id: &str) -> Batch {
    let worker =
        WorkerRecord { status_since: AT, lease_until: AT, last_seen: AT, created_at: AT, ..worker(id) };
    Batch { changes: vec![changed(worker)], ..Batch::default() }
}

/// Session `night`, open, with worker `gpu-1`, a range, its ids and an entry of the quarantine.
///
/// # Panics
/// Never: the id is one.
#[must_use]
pub fn night() -> Batch {
    let night = SessionId::new("night").expect("this is an id");
    let range = FrameTaskRecord {
        id: FrameTaskId { session: night.clone(), start: 100 },
        status: FrameTaskStatus::Assigned,
        ids: frames::ids(7),
        created_at: AT,
        granted_at: AT,
        ..frames::range(1, 100)
    };
    let changes = vec![
        changed(SessionRecord {
            id: night.clone(),
            output: "night".into(),
            created_at: AT,
            body: Some("{}".into()),
            ..frames::session(1)
        }),
        changed(RendererRecord {
            state: RendererState::Healthy,
            state_since: AT,
            registered_at: AT,
            description: None,
            ..frames::renderer("gpu-1")
        }),
        changed(ChunkRecord { task: range.id.clone(), at: AT, ..frames::chunk(7, 1) }),
        changed(range),
        changed(QuarantineRecord {
            session: night,
            output: "night".into(),
            ..frames::entry(EntryId::Chunk(7), AT.0)
        }),
    ];
    Batch { changes, ..Batch::default() }
}
