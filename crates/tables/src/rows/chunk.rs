//! Table `sim_chunks`: every grant of ids (S12, S13).

use super::{integer, latest, one, put};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink, Sql},
};
use muster_model::ChunkRecord;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "chunk_id, id_start, id_end, session_id, start_frame, worker_id, attempt, state, reason, at";

/// Writes the last state of each grant.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&ChunkRecord>) -> Result<(), Fault> {
    put(sink, &PUT, &latest(records, |record| record.ids.chunk), fill)
}

/// The grant with a number; a number no column can hold was never given.
pub(crate) fn find(connection: &dyn Sql, chunk: u64) -> Result<Option<ChunkRecord>, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM sim_chunks WHERE chunk_id = ?1");
    one(connection, &sql, &[super::sought_number(chunk).into()], read)
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<ChunkRecord, Fault> {
    let fields = Fields::new("sim_chunks", row);
    Ok(ChunkRecord {
        ids: fields.id_range(0)?,
        task: fields.frame_task(3)?,
        worker: fields.name(5)?,
        attempt: fields.number(6)?,
        state: fields.word(7, muster_model::ChunkState::from_word)?,
        reason: fields.maybe_text(8)?,
        at: fields.time(9)?,
    })
}

fn fill(chunk: &ChunkRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        integer(chunk.ids.chunk)?.into(),
        integer(chunk.ids.start)?.into(),
        integer(chunk.ids.end)?.into(),
        chunk.task.session.as_str().into(),
        integer(chunk.task.start)?.into(),
        chunk.worker.as_str().into(),
        chunk.attempt.into(),
        chunk.state.as_str().into(),
        chunk.reason.as_deref().into(),
        chunk.at.into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "sim_chunks",
    columns: &[
        number("chunk_id"),
        number("id_start"),
        number("id_end"),
        text("session_id"),
        number("start_frame"),
        text("worker_id"),
        number("attempt"),
        text("state"),
        text("reason"),
        number("at"),
    ],
    key: &["chunk_id"],
    numbered: false,
};

/// A grant stays with its session: what is not set needs no change in the index.
static PUT: Put = TABLE.put(Update::Set(
    "id_start = excluded.id_start, id_end = excluded.id_end, start_frame = excluded.start_frame, \
     worker_id = excluded.worker_id, attempt = excluded.attempt, state = excluded.state, reason = excluded.reason, \
     at = excluded.at",
));
