//! Records of sessions to write: a plain one of each kind, to be varied by the cases.

pub(crate) use crate::conformance::samples::{changed, name};
use muster_model::{
    ChunkRecord, ChunkState, DiagnosticKind, DiagnosticRecord, Digest, EntryId, FrameRange, FrameTaskId,
    FrameTaskRecord, FrameTaskStatus, IdRange, QuarantineRecord, RendererRecord, RendererState, ReplayRecord,
    SessionId, SessionRecord, SessionStatus, Timestamp, TransitionRecord,
};

pub(crate) fn session_id(number: u64) -> SessionId {
    SessionId::new(&format!("session_{number}")).expect("the suite's sessions have ids")
}

pub(crate) fn range_id(session: u64, start: u64) -> FrameTaskId {
    FrameTaskId { session: session_id(session), start }
}

/// An open session whose age is its number.
pub(crate) fn session(number: u64) -> SessionRecord {
    SessionRecord {
        id: session_id(number),
        seq: number,
        status: SessionStatus::Running,
        total_frames: 1_000,
        frames_per_task: 100,
        strict: false,
        output: format!("session_{number}").into(),
        digest: Digest(7),
        completed_frames: 0,
        failed_frames: 0,
        open: true,
        created_at: Timestamp(1_000),
        ended_at: None,
        error: None,
        body: Some("{\"scenario\": \"밤\"}".into()),
    }
}

/// A session that ended at a moment.
pub(crate) fn closed_session(number: u64, at: i64) -> SessionRecord {
    let ended = SessionRecord { status: SessionStatus::Completed, open: false, ..session(number) };
    SessionRecord { ended_at: Some(Timestamp(at)), ..ended }
}

/// A range that waits.
pub(crate) fn range(session: u64, start: u64) -> FrameTaskRecord {
    FrameTaskRecord {
        id: range_id(session, start),
        end: start + 100,
        status: FrameTaskStatus::Pending,
        attempt: 1,
        failures: 0,
        losses: 0,
        losers: vec![],
        worker: name("gpu-1"),
        ids: ids(1),
        created_at: Timestamp(1_000),
        granted_at: Timestamp(1_000),
        confirmed_at: None,
        ended_at: None,
        dropped: 0,
        digest: None,
        error: None,
        result: None,
    }
}

/// A range that was done at a moment.
pub(crate) fn done_range(session: u64, start: u64, at: i64) -> FrameTaskRecord {
    FrameTaskRecord {
        status: FrameTaskStatus::Completed,
        ended_at: Some(Timestamp(at)),
        digest: Some(Digest(u128::from(start))),
        result: Some("{\"poseFiles\": []}".into()),
        ..range(session, start)
    }
}

pub(crate) fn ids(chunk: u64) -> IdRange {
    IdRange { chunk, start: chunk * 1_000, end: (chunk + 1) * 1_000 }
}

/// A live grant for the first range of a session.
pub(crate) fn chunk(number: u64, session: u64) -> ChunkRecord {
    ChunkRecord {
        ids: ids(number),
        task: range_id(session, 0),
        worker: name("gpu-1"),
        attempt: 1,
        state: ChunkState::Live,
        reason: None,
        at: Timestamp(1_000),
    }
}

pub(crate) fn retired_chunk(number: u64, session: u64) -> ChunkRecord {
    ChunkRecord { state: ChunkState::Retired, reason: Some("worker_lost".into()), ..chunk(number, session) }
}

pub(crate) fn replay(session: u64, new: u64) -> ReplayRecord {
    ReplayRecord {
        session: session_id(session),
        range: FrameRange { start: 0, end: 100 },
        retired: new - 1,
        new,
        at: Timestamp(1_000),
    }
}

pub(crate) fn renderer(id: &str) -> RendererRecord {
    RendererRecord {
        id: name(id),
        state: RendererState::Registered,
        state_since: Timestamp(1_000),
        token_hash: [7; 32],
        endpoint: None,
        slots: 1,
        failures: vec![],
        losses: vec![],
        last_completed: None,
        removal: None,
        removed_from: vec![],
        registered_at: Timestamp(1_000),
        last_heartbeat: None,
        description: Some("{\"role\": \"render\"}".into()),
    }
}

pub(crate) fn transition(worker: &str, at: i64) -> TransitionRecord {
    TransitionRecord {
        worker: name(worker),
        from: RendererState::Healthy,
        to: RendererState::Lost,
        cause: "3 heartbeats missed".into(),
        at: Timestamp(at),
    }
}

/// An entry whose files are not moved yet.
pub(crate) fn entry(id: EntryId, at: i64) -> QuarantineRecord {
    QuarantineRecord {
        id,
        session: session_id(1),
        output: "session_1".into(),
        worker: name("gpu-1"),
        moved: false,
        files: 0,
        confirmed: None,
        at: Timestamp(at),
    }
}

pub(crate) fn line(session: u64, worker: &str, at: i64) -> DiagnosticRecord {
    DiagnosticRecord {
        kind: DiagnosticKind::Message,
        worker: name(worker),
        session: session_id(session),
        task: None,
        text: format!("line {at}").into(),
        at: Timestamp(at),
    }
}
