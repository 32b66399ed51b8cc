//! Table `execution_logs`: the stations of every attempt (Q12).

use crate::{fault::Fault, fields::Fields, id_text::TaskText, words};
use muster_model::LogRecord;
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "task_device_id, seq, attempt_no, event_type, message, at";

/// Adds stations.
pub(crate) fn write(connection: &Connection, records: &[&LogRecord]) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(REPLACE)?;
    for log in records {
        statement.execute(params![
            TaskText::new(log.task).task(),
            log.seq,
            log.attempt,
            log.kind.as_str(),
            log.kind.level(),
            log.message.as_deref(),
            log.at.0,
        ])?;
    }
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<LogRecord, Fault> {
    let fields = Fields::new("execution_logs", row);
    Ok(LogRecord {
        task: fields.id(0)?,
        seq: fields.number(1)?,
        attempt: fields.number(2)?,
        kind: fields.word(3, words::parse_log_kind)?,
        message: fields.maybe_text(4)?,
        at: fields.time(5)?,
    })
}

const REPLACE: &str = "INSERT OR REPLACE INTO execution_logs (task_device_id, seq, attempt_no, event_type, level, \
     message, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
