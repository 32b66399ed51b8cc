//! Table `sim_tasks`: the ranges of sessions.

use super::{integer, lists, needed, one};
use crate::{fault::Fault, fields::Fields, words};
use muster_model::{FrameTaskId, FrameTaskRecord, FrameTaskStatus, Timestamp};
use rusqlite::{Connection, Row, Statement, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "session_id, start_frame, end_frame, status, attempt, failures, losers, worker_id, \
     chunk_id, id_start, id_end, created_at, granted_at, confirmed_at, ended_at, dropped_frames, digest, error, result";

/// What [`read`] expects, but for the result.
pub(crate) const COLUMNS_WITHOUT_RESULT: &str = "session_id, start_frame, end_frame, status, attempt, failures, losers, \
     worker_id, chunk_id, id_start, id_end, created_at, granted_at, confirmed_at, ended_at, dropped_frames, digest, \
     error, NULL AS result";

/// Writes the last state of each range.
pub(crate) fn write(connection: &Connection, records: Vec<&FrameTaskRecord>) -> Result<(), Fault> {
    let mut whole = connection.prepare_cached(REPLACE)?;
    let mut keeping = connection.prepare_cached(REPLACE_ALL_BUT_RESULT)?;
    for record in needed(records, |record| &record.id, |record| !keeps_result(record)) {
        let statement = if keeps_result(record) { &mut keeping } else { &mut whole };
        bind(statement, record)?;
        statement.raw_execute()?;
    }
    Ok(())
}

/// One range; a first frame no column can hold is none's.
pub(crate) fn find(
    connection: &Connection,
    id: &FrameTaskId,
    columns: &str,
) -> Result<Option<FrameTaskRecord>, Fault> {
    let Ok(start) = i64::try_from(id.start) else {
        return Ok(None);
    };
    let sql = format!("SELECT {columns} FROM sim_tasks WHERE session_id = ?1 AND start_frame = ?2");
    one(connection, &sql, params![id.session.as_str(), start], read)
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<FrameTaskRecord, Fault> {
    let fields = Fields::new("sim_tasks", row);
    Ok(FrameTaskRecord {
        id: fields.frame_task(0)?,
        end: fields.number(2)?,
        status: fields.word(3, words::parse_frame_task_status)?,
        attempt: fields.number(4)?,
        failures: fields.number(5)?,
        losers: fields.word(6, lists::parse_names)?,
        worker: fields.name(7)?,
        ids: fields.id_range(8)?,
        created_at: fields.time(11)?,
        granted_at: fields.time(12)?,
        confirmed_at: fields.maybe_time(13)?,
        ended_at: fields.maybe_time(14)?,
        dropped: fields.number(15)?,
        digest: if fields.is_null(16)? { None } else { Some(fields.digest(16)?) },
        error: fields.maybe_text(17)?,
        result: fields.maybe_text(18)?,
    })
}

/// Whether the result that is there stays: memory does not hold it, and may write the row without it.
fn keeps_result(record: &FrameTaskRecord) -> bool {
    record.status == FrameTaskStatus::Completed && record.result.is_none()
}

fn bind(statement: &mut Statement<'_>, record: &FrameTaskRecord) -> Result<(), Fault> {
    let moment = |at: Option<Timestamp>| at.map(|at| at.0);
    statement.raw_bind_parameter(1, record.id.session.as_str())?;
    statement.raw_bind_parameter(2, integer(record.id.start)?)?;
    statement.raw_bind_parameter(3, integer(record.end)?)?;
    statement.raw_bind_parameter(4, record.status.as_str())?;
    statement.raw_bind_parameter(5, record.attempt)?;
    statement.raw_bind_parameter(6, record.failures)?;
    statement.raw_bind_parameter(7, lists::names_text(&record.losers))?;
    statement.raw_bind_parameter(8, record.worker.as_str())?;
    statement.raw_bind_parameter(9, integer(record.ids.chunk)?)?;
    statement.raw_bind_parameter(10, integer(record.ids.start)?)?;
    statement.raw_bind_parameter(11, integer(record.ids.end)?)?;
    statement.raw_bind_parameter(12, record.created_at.0)?;
    statement.raw_bind_parameter(13, record.granted_at.0)?;
    statement.raw_bind_parameter(14, moment(record.confirmed_at))?;
    statement.raw_bind_parameter(15, moment(record.ended_at))?;
    statement.raw_bind_parameter(16, integer(record.dropped)?)?;
    statement.raw_bind_parameter(17, record.digest.map(|digest| digest.0.to_be_bytes()))?;
    statement.raw_bind_parameter(18, record.error.as_deref())?;
    statement.raw_bind_parameter(19, record.result.as_deref())?;
    Ok(())
}

/// REPLACE into a table with nothing but its primary key overwrites in place, without a search first.
const REPLACE: &str = "INSERT OR REPLACE INTO sim_tasks (session_id, start_frame, end_frame, status, attempt, failures, \
     losers, worker_id, chunk_id, id_start, id_end, created_at, granted_at, confirmed_at, ended_at, dropped_frames, \
     digest, error, result) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";

const REPLACE_ALL_BUT_RESULT: &str = "INSERT OR REPLACE INTO sim_tasks (session_id, start_frame, end_frame, status, \
     attempt, failures, losers, worker_id, chunk_id, id_start, id_end, created_at, granted_at, confirmed_at, ended_at, \
     dropped_frames, digest, error, result) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
     coalesce(?19, (SELECT result FROM sim_tasks WHERE session_id = ?1 AND start_frame = ?2)))";
