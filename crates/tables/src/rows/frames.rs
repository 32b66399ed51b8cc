//! Sessions of frames: tables `sim_workers`, `sim_transitions` (S11), `sim_sessions` and `sim_session_bodies` (S26),
//! `sim_tasks`, the ranges of sessions, `sim_chunks`, every grant of ids (S12, S13), `sim_replays` (S16),
//! `sim_quarantine` (S15), `sim_diagnostics` (S4, S20b) and `sim_farm`, which has one row.

use super::sequence;
use crate::{
    record::{TableRecord as _, put, put_values, record, split, table, write, write_all, write_latest},
    shape::{Put, Update},
    sql::{Fault, Sink, Sql},
};
use muster_model::{
    ChunkRecord, DiagnosticRecord, FarmRecord, FrameRange, FrameTaskId, FrameTaskRecord, FrameTaskStatus,
    IdRange, Name, QuarantineRecord, RendererRecord, ReplayRecord, SessionId, SessionRecord,
    TransitionRecord,
};

table! {
    RendererRecord in "sim_workers", key ["id"],
    put Except(&[("description", Some("coalesce(excluded.description, sim_workers.description)"))]) {
        id: Text("id"),
        state: Text("state"),
        state_since: Number("state_since"),
        token_hash: Bytes("token_sha256"),
        endpoint: Text("endpoint"),
        slots: Number("slots"),
        failures: Text("failures"),
        registered_at: Number("registered_at"),
        last_heartbeat: Number("last_heartbeat_at"),
        losses: Text("losses"),
        last_completed: Number("last_completed_at"),
        removal: Text("removal"),
        removed_from: Text("removed_from"),
        description: Text("description") short "CAST(NULL AS TEXT)",
    }
}

table! {
    TransitionRecord in "sim_transitions", key ["id"], put Never {
        worker: Text("worker_id"),
        from: Text("from_state"),
        to: Text("to_state"),
        cause: Text("cause"),
        at: Number("at"),
    }
    numbered "id"
}

table! {
    SessionRecord in "sim_sessions", key ["id"], put Named {
        id: Text("id"),
        seq: Number("seq"),
        status: Text("status"),
        total_frames: Number("total_frames"),
        frames_per_task: Number("frames_per_task"),
        strict: Number("strict"),
        output: Text("output_directory"),
        digest: Bytes("digest"),
        completed_frames: Number("completed_frames"),
        failed_frames: Number("failed_frames"),
        open: Number("open"),
        created_at: Number("created_at"),
        ended_at: Number("ended_at"),
        error: Text("error"),
    }
    row SessionRecord {
        id, seq, status, total_frames, frames_per_task, strict, output, digest, completed_frames, failed_frames, open,
        created_at, ended_at, error, body
    }
    joined body: Text("body") "CAST(NULL AS TEXT)"
}

/// The request that submitted a session.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionBody {
    session: SessionId,
    body: Box<str>,
}

table! {
    SessionBody in "sim_session_bodies", key ["session_id"], put Whole {
        session: Text("session_id"),
        body: Text("body"),
    }
}

table! {
    FrameTaskRecord in "sim_tasks", key ["session_id", "start_frame"], put Whole {
        session: Text("session_id"),
        start: Number("start_frame"),
        end: Number("end_frame"),
        status: Text("status"),
        attempt: Number("attempt"),
        failures: Number("failures"),
        losses: Number("losses"),
        losers: Text("losers"),
        worker: Text("worker_id"),
        chunk: Number("chunk_id"),
        id_start: Number("id_start"),
        id_end: Number("id_end"),
        created_at: Number("created_at"),
        granted_at: Number("granted_at"),
        confirmed_at: Number("confirmed_at"),
        ended_at: Number("ended_at"),
        dropped: Number("dropped_frames"),
        digest: Bytes("digest"),
        error: Text("error"),
        result: Text("result") short "CAST(NULL AS TEXT)",
    }
    row FrameTaskRecord {
        id: FrameTaskId { session, start },
        ids: IdRange { chunk, start: id_start, end: id_end },
        end, status, attempt, failures, losses, losers, worker, created_at, granted_at, confirmed_at, ended_at, dropped,
        digest, error, result
    }
}

table! {
    // A grant stays with its session: what is not set needs no change in the index.
    ChunkRecord in "sim_chunks", key ["chunk_id"], put Except(&[("session_id", None)]) {
        chunk: Number("chunk_id"),
        id_start: Number("id_start"),
        id_end: Number("id_end"),
        session: Text("session_id"),
        start: Number("start_frame"),
        worker: Text("worker_id"),
        attempt: Number("attempt"),
        state: Text("state"),
        reason: Text("reason"),
        at: Number("at"),
    }
    row ChunkRecord {
        ids: IdRange { chunk, start: id_start, end: id_end },
        task: FrameTaskId { session, start },
        worker, attempt, state, reason, at
    }
}

table! {
    ReplayRecord in "sim_replays", key ["session_id", "new_chunk_id"], put Whole {
        session: Text("session_id"),
        new: Number("new_chunk_id"),
        start: Number("start_frame"),
        end: Number("end_frame"),
        retired: Number("retired_chunk_id"),
        at: Number("at"),
    }
    row ReplayRecord { session, range: FrameRange { start, end }, retired, new, at }
}

table! {
    QuarantineRecord in "sim_quarantine", key ["id"], put Whole {
        id: Text("id"),
        session: Text("session_id"),
        output: Text("output_directory"),
        worker: Text("worker_id"),
        moved: Number("moved"),
        files: Number("files"),
        confirmed: Text("confirmed"),
        at: Number("at"),
    }
}

table! {
    DiagnosticRecord in "sim_diagnostics", key ["id"], put Never {
        worker: Text("worker_id"),
        session: Text("session_id"),
        task: Text("task_id"),
        text: Text("text"),
        at: Number("at"),
        kind: Text("kind"),
    }
    numbered "id"
}

/// The one row of the farm.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Farm {
    id: u64,
    farm: FarmRecord,
}

table! {
    Farm in "sim_farm", key ["id"], put Whole {
        id: Number("id"),
        paused: Number("paused"),
        next_chunk: Number("next_chunk_id"),
        next_id: Number("next_id"),
    }
    row Farm { id, farm: FarmRecord { paused, next_chunk, next_id } }
    derived { id = only_row(id)? }
}

fn only_row(id: u64) -> Result<u64, Fault> {
    if id == 1 { Ok(id) } else { Err(Fault::corrupt(format!("sim_farm {id}: there is one row only"))) }
}

/// Deletes a worker.
pub(crate) fn delete_renderer(sink: &mut dyn Sink, id: &Name) -> Result<(), Fault> {
    static GONE: Put = RendererRecord::TABLE.put_first(1, Update::Gone);
    put_values(sink, &GONE, &[id.as_str().into()])
}

/// Writes the last state of each session, and the bodies there are.
pub(crate) fn write_sessions(sink: &mut dyn Sink, records: Vec<&SessionRecord>) -> Result<(), Fault> {
    let body = |session: &&SessionRecord| {
        Some(SessionBody { session: session.id.clone(), body: session.body.clone()? })
    };
    let bodies: Vec<SessionBody> = records.iter().filter_map(body).collect();
    write_latest(sink, bodies.iter().collect(), |body| &body.session)?;
    sequence::raise(sink, sequence::SESSIONS, records.iter().map(|record| record.seq).max())?;
    write_latest(sink, records, |record| &record.id)
}

/// Deletes a session.
pub(crate) fn delete_session(connection: &dyn Sql, id: &SessionId) -> Result<(), Fault> {
    for sql in
        ["DELETE FROM sim_session_bodies WHERE session_id = ?1", "DELETE FROM sim_sessions WHERE id = ?1"]
    {
        connection.execute(sql, &[id.as_str().into()])?;
    }
    Ok(())
}

/// Writes the last state of each range.
pub(crate) fn write_tasks(sink: &mut dyn Sink, records: Vec<&FrameTaskRecord>) -> Result<(), Fault> {
    static PUT_ALL_BUT_RESULT: Put =
        FrameTaskRecord::TABLE.put_first(FrameTaskRecord::TABLE.columns.len() - 1, Update::Named);
    let (whole, keeping) = split(records, |record| &record.id, keeps_result);
    write_all(sink, &whole)?;
    put(sink, &PUT_ALL_BUT_RESULT, &keeping)
}

/// True if the result that is there stays: memory does not hold it, and may write the row without it. A range that was
/// completed and then skipped (S23b) keeps its result, too.
fn keeps_result(record: &FrameTaskRecord) -> bool {
    let has_result = match record.status {
        FrameTaskStatus::Completed => true,
        FrameTaskStatus::Failed => record.digest.is_some(),
        _ => false,
    };
    has_result && record.result.is_none()
}

/// Writes the farm's row.
pub(crate) fn write_farm(sink: &mut dyn Sink, farm: FarmRecord) -> Result<(), Fault> {
    write(sink, &Farm { id: 1, farm })
}

/// Reads the farm's row. Without it ids would be granted twice, so there is no default for it.
pub(crate) fn farm(connection: &dyn Sql) -> Result<FarmRecord, Fault> {
    let row: Option<Farm> = record(connection, "", &[])?;
    row.map(|row| row.farm).ok_or_else(|| Fault::corrupt("sim_farm: its row is missing"))
}
