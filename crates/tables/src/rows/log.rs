//! Table `execution_logs`: the stations of every attempt (Q12).

use super::{latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::TaskText,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::LogRecord;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "task_device_id, seq, attempt_no, event_type, message, at";

/// Adds stations.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&LogRecord>) -> Result<(), Fault> {
    put(sink, &PUT, &latest(records, |record| (record.task, record.seq)), fill)
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<LogRecord, Fault> {
    let fields = Fields::new("execution_logs", row);
    Ok(LogRecord {
        task: fields.id(0)?,
        seq: fields.number(1)?,
        attempt: fields.number(2)?,
        kind: fields.word(3, muster_model::LogKind::from_word)?,
        message: fields.maybe_text(4)?,
        at: fields.time(5)?,
    })
}

fn fill(log: &LogRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        TaskText::new(log.task).task().into(),
        log.seq.into(),
        log.attempt.into(),
        log.kind.as_str().into(),
        log.kind.level().into(),
        log.message.as_deref().into(),
        log.at.into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "execution_logs",
    columns: &[
        text("task_device_id"),
        number("seq"),
        number("attempt_no"),
        text("event_type"),
        text("level"),
        text("message"),
        number("at"),
    ],
    key: &["task_device_id", "seq"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
