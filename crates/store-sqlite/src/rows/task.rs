//! Table `task_devices`: the single truth about one unit of work on one device (Q1).

use super::latest;
use crate::{fault::Fault, fields::Fields, id_text::HexText, id_text::TaskText, words};
use muster_model::{TaskRecord, Timestamp};
use rusqlite::{Connection, Row, Statement};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, pc_id, device_id, status, attempt, max_attempts, error, result, lease_token, \
     lease_kind, lease_expires_at, created_at, started_at, confirmed_at, timeout_at, completed_at, timed_out, log_count";

/// What [`read`] expects, but for the result.
pub(crate) const COLUMNS_WITHOUT_RESULT: &str = "id, pc_id, device_id, status, attempt, max_attempts, error, NULL AS result, \
     lease_token, lease_kind, lease_expires_at, created_at, started_at, confirmed_at, timeout_at, completed_at, \
     timed_out, log_count";

/// Writes the last state of each task.
pub(crate) fn write(connection: &Connection, records: Vec<&TaskRecord>) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(REPLACE)?;
    for record in latest(records, |record| record.id) {
        bind(&mut statement, record)?;
        statement.raw_execute()?;
    }
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<TaskRecord, Fault> {
    let fields = Fields::new("task_devices", row);
    Ok(TaskRecord {
        id: fields.id(0)?,
        worker: fields.name(1)?,
        lane: fields.name(2)?,
        status: fields.word(3, words::parse_task_status)?,
        attempt: fields.number(4)?,
        max_attempts: fields.number(5)?,
        error: fields.maybe_text(6)?,
        result: fields.maybe_text(7)?,
        fence: fields.id(8)?,
        lease: fields.word(9, words::parse_lease_kind)?,
        lease_until: fields.maybe_time(10)?,
        created_at: fields.time(11)?,
        started_at: fields.maybe_time(12)?,
        confirmed_at: fields.maybe_time(13)?,
        timeout_at: fields.maybe_time(14)?,
        completed_at: fields.maybe_time(15)?,
        timed_out: fields.flag(16)?,
        logs: fields.number(17)?,
    })
}

fn bind(statement: &mut Statement<'_>, record: &TaskRecord) -> Result<(), Fault> {
    let id = TaskText::new(record.id);
    let moment = |at: Option<Timestamp>| at.map(|at| at.0);
    statement.raw_bind_parameter(1, id.task())?;
    statement.raw_bind_parameter(2, id.job())?;
    statement.raw_bind_parameter(3, record.worker.as_str())?;
    statement.raw_bind_parameter(4, record.lane.as_str())?;
    statement.raw_bind_parameter(5, record.status.as_str())?;
    statement.raw_bind_parameter(6, record.attempt)?;
    statement.raw_bind_parameter(7, record.max_attempts)?;
    statement.raw_bind_parameter(8, record.error.as_deref())?;
    statement.raw_bind_parameter(9, record.result.as_deref())?;
    statement.raw_bind_parameter(10, HexText::from(record.fence).as_str())?;
    statement.raw_bind_parameter(11, words::lease_kind(record.lease))?;
    statement.raw_bind_parameter(12, moment(record.lease_until))?;
    statement.raw_bind_parameter(13, record.created_at.0)?;
    statement.raw_bind_parameter(14, moment(record.started_at))?;
    statement.raw_bind_parameter(15, moment(record.confirmed_at))?;
    statement.raw_bind_parameter(16, moment(record.timeout_at))?;
    statement.raw_bind_parameter(17, moment(record.completed_at))?;
    statement.raw_bind_parameter(18, record.timed_out)?;
    statement.raw_bind_parameter(19, record.logs)?;
    Ok(())
}

/// REPLACE into a table with nothing but its primary key overwrites in place, without a search first.
const REPLACE: &str = "INSERT OR REPLACE INTO task_devices (id, task_id, pc_id, device_id, status, attempt, \
     max_attempts, error, result, lease_token, lease_kind, lease_expires_at, created_at, started_at, confirmed_at, \
     timeout_at, completed_at, timed_out, log_count) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)";
