//! Table `task_devices`: the single truth about one unit of work on one device (Q1).

use super::{latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::{HexText, TaskText},
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::TaskRecord;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, pc_id, device_id, status, attempt, max_attempts, error, result, lease_token, \
     lease_kind, lease_expires_at, created_at, started_at, confirmed_at, timeout_at, completed_at, timed_out, log_count";

/// What [`read`] expects, but for the result.
pub(crate) const COLUMNS_WITHOUT_RESULT: &str = "id, pc_id, device_id, status, attempt, max_attempts, \
     error, CAST(NULL AS TEXT) AS result, lease_token, lease_kind, lease_expires_at, created_at, \
     started_at, confirmed_at, timeout_at, completed_at, timed_out, log_count";

/// Writes the last state of each task.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&TaskRecord>) -> Result<(), Fault> {
    put(sink, &PUT, &latest(records, |record| record.id), fill)
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<TaskRecord, Fault> {
    let fields = Fields::new("task_devices", row);
    Ok(TaskRecord {
        id: fields.id(0)?,
        worker: fields.name(1)?,
        lane: fields.name(2)?,
        status: fields.word(3, muster_model::TaskStatus::from_word)?,
        attempt: fields.number(4)?,
        max_attempts: fields.number(5)?,
        error: fields.maybe_text(6)?,
        result: fields.maybe_text(7)?,
        fence: fields.id(8)?,
        lease: fields.word(9, muster_model::LeaseKind::from_word)?,
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

fn fill(record: &TaskRecord, row: &mut dyn Row) -> Result<(), Fault> {
    let id = TaskText::new(record.id);
    row.values(&[
        id.task().into(),
        id.job().into(),
        record.worker.as_str().into(),
        record.lane.as_str().into(),
        record.status.as_str().into(),
        record.attempt.into(),
        record.max_attempts.into(),
        record.error.as_deref().into(),
        record.result.as_deref().into(),
        HexText::from(record.fence).as_str().into(),
        record.lease.as_str().into(),
        record.lease_until.into(),
        record.created_at.into(),
        record.started_at.into(),
        record.confirmed_at.into(),
        record.timeout_at.into(),
        record.completed_at.into(),
        record.timed_out.into(),
        record.logs.into(),
    ]);
    Ok(())
}

/// The table; its last column is nobody's yet.
pub(crate) const TABLE: TableShape = TableShape {
    name: "task_devices",
    columns: &[
        text("id"),
        text("task_id"),
        text("pc_id"),
        text("device_id"),
        text("status"),
        number("attempt"),
        number("max_attempts"),
        text("error"),
        text("result"),
        text("lease_token"),
        text("lease_kind"),
        number("lease_expires_at"),
        number("created_at"),
        number("started_at"),
        number("confirmed_at"),
        number("timeout_at"),
        number("completed_at"),
        number("timed_out"),
        number("log_count"),
        text("config"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put_first(TABLE.columns.len() - 1, Update::Whole);
