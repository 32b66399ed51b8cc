//! Batches to write and ways to see what is there.

use muster_model::{
    Change, ChunkRecord, ChunkState, Digest, EntryId, Fence, FrameChange, FrameTaskId, FrameTaskRecord,
    FrameTaskStatus, IdRange, JobId, JobOutcome, JobRecord, JobStatus, LeaseKind, Name, QuarantineRecord,
    RendererRecord, RendererState, Scope, SessionId, SessionRecord, SessionStatus, TaskId, TaskRecord,
    TaskStatus, Timestamp, WorkerRecord, WorkerStatus,
};
use muster_store::{Batch, Cursor, Reader, Store, TaskFilter};
use muster_store_sqlite::SqliteStore;
use rusqlite::Connection;
use std::path::Path;

pub(crate) const AT: Timestamp = Timestamp(1_760_000_000_000);

pub(crate) fn job() -> JobId {
    JobId::new(AT, 7)
}

/// A connection such as anybody could open.
pub(crate) fn shell(directory: &Path) -> Connection {
    Connection::open(directory.join("muster.db")).unwrap()
}

/// Opens a directory and counts the tasks there.
pub(crate) fn tasks(directory: &Path) -> usize {
    count(SqliteStore::open(directory).unwrap().reader().as_ref())
}

/// How many tasks there are.
pub(crate) fn count(reader: &dyn Reader) -> usize {
    let all = Cursor { after: None, limit: 2_000_000 };
    reader.tasks(job(), &TaskFilter::default(), &all).unwrap().items.len()
}

/// An open job and so many tasks of it.
pub(crate) fn batch(first: u32, count: u32) -> Batch {
    let job = Change::Job(Box::new(JobRecord {
        id: job(),
        seq: 1,
        queue: Name::new("default").unwrap(),
        status: JobStatus::Running,
        outcome: JobOutcome::Open,
        scope: Scope::All,
        max_attempts: 3,
        tasks: 0,
        open: true,
        created_at: AT,
        started_at: None,
        completed_at: None,
        error: None,
        payload: None,
    }));
    let tasks = (first..first + count).map(|ordinal| Change::Task(Box::new(task(ordinal))));
    Batch { changes: std::iter::once(job).chain(tasks).collect(), ..Batch::default() }
}

fn task(ordinal: u32) -> TaskRecord {
    TaskRecord {
        id: TaskId { job: job(), ordinal },
        worker: Name::new("PC-01").unwrap(),
        lane: Name::new(&format!("device-{ordinal}")).unwrap(),
        status: TaskStatus::Running,
        attempt: 1,
        max_attempts: 3,
        error: None,
        result: None,
        fence: Fence(u128::from(ordinal)),
        lease: LeaseKind::Presence,
        lease_until: Some(Timestamp(AT.0 + 1)),
        created_at: AT,
        started_at: None,
        confirmed_at: None,
        timeout_at: None,
        completed_at: None,
        timed_out: false,
        logs: 0,
    }
}

/// A worker.
pub(crate) fn worker_batch(id: &str) -> Batch {
    let worker = WorkerRecord {
        id: Name::new(id).unwrap(),
        status: WorkerStatus::Online,
        status_since: AT,
        cap: None,
        draining: false,
        paused_until: None,
        lease_until: AT,
        last_seen: AT,
        heartbeat_late_since: None,
        created_at: AT,
    };
    Batch { changes: vec![Change::Worker(Box::new(worker))], ..Batch::default() }
}

/// An open session with a worker, a range, its ids and an entry of the quarantine.
pub(crate) fn night() -> Batch {
    let changes = [
        FrameChange::Session(Box::new(session())),
        FrameChange::Renderer(Box::new(renderer())),
        FrameChange::Task(Box::new(range())),
        FrameChange::Chunk(ChunkRecord {
            ids: range().ids,
            task: range().id,
            worker: renderer().id,
            attempt: 1,
            state: ChunkState::Live,
            reason: None,
            at: AT,
        }),
        FrameChange::Quarantine(Box::new(QuarantineRecord {
            id: EntryId::Chunk(7),
            session: session().id,
            output: "night".into(),
            worker: renderer().id,
            moved: false,
            files: 0,
            confirmed: None,
            at: AT,
        })),
    ];
    Batch { changes: changes.map(Change::Frames).into(), ..Batch::default() }
}

fn session() -> SessionRecord {
    SessionRecord {
        id: SessionId::new("night").unwrap(),
        seq: 1,
        status: SessionStatus::Running,
        total_frames: 1_000,
        frames_per_task: 100,
        strict: false,
        output: "night".into(),
        digest: Digest(7),
        completed_frames: 0,
        failed_frames: 0,
        open: true,
        created_at: AT,
        ended_at: None,
        error: None,
        body: Some("{}".into()),
    }
}

fn renderer() -> RendererRecord {
    RendererRecord {
        id: Name::new("gpu-1").unwrap(),
        state: RendererState::Healthy,
        state_since: AT,
        token_hash: [7; 32],
        endpoint: None,
        slots: 1,
        failures: vec![],
        losses: Vec::new(),
        last_completed: None,
        removal: None,
        removed_from: Vec::new(),
        registered_at: AT,
        last_heartbeat: None,
        description: None,
    }
}

fn range() -> FrameTaskRecord {
    FrameTaskRecord {
        id: FrameTaskId { session: session().id, start: 100 },
        end: 200,
        status: FrameTaskStatus::Assigned,
        attempt: 1,
        failures: 0,
        losses: 0,
        losers: vec![],
        worker: renderer().id,
        ids: IdRange { chunk: 7, start: 7_000, end: 8_000 },
        created_at: AT,
        granted_at: AT,
        confirmed_at: None,
        ended_at: None,
        dropped: 0,
        digest: None,
        error: None,
        result: None,
    }
}
