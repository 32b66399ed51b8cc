//! Table `sim_tasks`: the ranges of sessions.

use super::{integer, lists, one, put, sought_number, split};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Row, Sink, Sql},
};
use muster_model::{FrameTaskId, FrameTaskRecord, FrameTaskStatus};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "session_id, start_frame, end_frame, status, attempt, failures, losses, losers, worker_id, \
     chunk_id, id_start, id_end, created_at, granted_at, confirmed_at, ended_at, dropped_frames, digest, error, result";

/// What [`read`] expects, but for the result.
pub(crate) const COLUMNS_WITHOUT_RESULT: &str = "session_id, start_frame, end_frame, status, attempt, \
     failures, losses, losers, worker_id, chunk_id, id_start, id_end, created_at, granted_at, confirmed_at, \
     ended_at, dropped_frames, digest, error, CAST(NULL AS TEXT) AS result";

/// Writes the last state of each range.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&FrameTaskRecord>) -> Result<(), Fault> {
    let (whole, keeping) = split(records, |record| &record.id, keeps_result);
    put(sink, &PUT, &whole, |record, row| {
        fill(record, row)?;
        row.value(record.result.as_deref().into());
        Ok(())
    })?;
    put(sink, &PUT_ALL_BUT_RESULT, &keeping, fill)
}

/// One range; a first frame no column can hold is none's.
pub(crate) fn find(connection: &dyn Sql, id: &FrameTaskId) -> Result<Option<FrameTaskRecord>, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM sim_tasks WHERE session_id = ?1 AND start_frame = ?2");
    one(connection, &sql, &[id.session.as_str().into(), sought_number(id.start).into()], read)
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<FrameTaskRecord, Fault> {
    let fields = Fields::new("sim_tasks", row);
    Ok(FrameTaskRecord {
        id: fields.frame_task(0)?,
        end: fields.number(2)?,
        status: fields.word(3, muster_model::FrameTaskStatus::from_word)?,
        attempt: fields.number(4)?,
        failures: fields.number(5)?,
        losses: fields.number(6)?,
        losers: fields.word(7, lists::parse_names)?,
        worker: fields.name(8)?,
        ids: fields.id_range(9)?,
        created_at: fields.time(12)?,
        granted_at: fields.time(13)?,
        confirmed_at: fields.maybe_time(14)?,
        ended_at: fields.maybe_time(15)?,
        dropped: fields.number(16)?,
        digest: if fields.is_null(17)? { None } else { Some(fields.digest(17)?) },
        error: fields.maybe_text(18)?,
        result: fields.maybe_text(19)?,
    })
}

/// Whether the result that is there stays: memory does not hold it, and may write the row without it. A range that was
/// completed and then skipped (S23b) keeps its result, too.
fn keeps_result(record: &FrameTaskRecord) -> bool {
    let has_result = match record.status {
        FrameTaskStatus::Completed => true,
        FrameTaskStatus::Failed => record.digest.is_some(),
        _ => false,
    };
    has_result && record.result.is_none()
}

fn fill(record: &FrameTaskRecord, row: &mut dyn Row) -> Result<(), Fault> {
    let digest = record.digest.map(|digest| digest.0.to_be_bytes());
    row.values(&[
        record.id.session.as_str().into(),
        integer(record.id.start)?.into(),
        integer(record.end)?.into(),
        record.status.as_str().into(),
        record.attempt.into(),
        record.failures.into(),
        record.losses.into(),
        lists::names_text(&record.losers).as_str().into(),
        record.worker.as_str().into(),
        integer(record.ids.chunk)?.into(),
        integer(record.ids.start)?.into(),
        integer(record.ids.end)?.into(),
        record.created_at.into(),
        record.granted_at.into(),
        record.confirmed_at.into(),
        record.ended_at.into(),
        integer(record.dropped)?.into(),
        digest.as_ref().into(),
        record.error.as_deref().into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "sim_tasks",
    columns: &[
        text("session_id"),
        number("start_frame"),
        number("end_frame"),
        text("status"),
        number("attempt"),
        number("failures"),
        number("losses"),
        text("losers"),
        text("worker_id"),
        number("chunk_id"),
        number("id_start"),
        number("id_end"),
        number("created_at"),
        number("granted_at"),
        number("confirmed_at"),
        number("ended_at"),
        number("dropped_frames"),
        bytes("digest"),
        text("error"),
        text("result"),
    ],
    key: &["session_id", "start_frame"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);

static PUT_ALL_BUT_RESULT: Put = TABLE.put_first(TABLE.columns.len() - 1, Update::Named);
