//! Table `sim_chunks`: every grant of ids (S12, S13).

use super::{integer, latest, one};
use crate::{fault::Fault, fields::Fields, words};
use muster_model::ChunkRecord;
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "chunk_id, id_start, id_end, session_id, start_frame, worker_id, attempt, state, reason, at";

/// Writes the last state of each grant.
pub(crate) fn write(connection: &Connection, records: Vec<&ChunkRecord>) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(UPSERT)?;
    for chunk in latest(records, |record| record.ids.chunk) {
        statement.execute(params![
            integer(chunk.ids.chunk)?,
            integer(chunk.ids.start)?,
            integer(chunk.ids.end)?,
            chunk.task.session.as_str(),
            integer(chunk.task.start)?,
            chunk.worker.as_str(),
            chunk.attempt,
            chunk.state.as_str(),
            chunk.reason.as_deref(),
            chunk.at.0,
        ])?;
    }
    Ok(())
}

/// The grant with a number; a number no column can hold was never given.
pub(crate) fn find(connection: &Connection, chunk: u64) -> Result<Option<ChunkRecord>, Fault> {
    let Ok(chunk) = i64::try_from(chunk) else {
        return Ok(None);
    };
    one(connection, &format!("SELECT {COLUMNS} FROM sim_chunks WHERE chunk_id = ?1"), [chunk], read)
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<ChunkRecord, Fault> {
    let fields = Fields::new("sim_chunks", row);
    Ok(ChunkRecord {
        ids: fields.id_range(0)?,
        task: fields.frame_task(3)?,
        worker: fields.name(5)?,
        attempt: fields.number(6)?,
        state: fields.word(7, words::parse_chunk_state)?,
        reason: fields.maybe_text(8)?,
        at: fields.time(9)?,
    })
}

/// A grant stays with its session: what is not set needs no change in the index.
const UPSERT: &str = "INSERT INTO sim_chunks (chunk_id, id_start, id_end, session_id, start_frame, worker_id, attempt, \
     state, reason, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
     ON CONFLICT (chunk_id) DO UPDATE SET id_start = ?2, id_end = ?3, start_frame = ?5, worker_id = ?6, attempt = ?7, \
     state = ?8, reason = ?9, at = ?10";
