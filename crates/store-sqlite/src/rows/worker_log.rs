//! Table `pc_logs`.

use crate::{fault::Fault, fields::Fields, words};
use muster_model::WorkerLogRecord;
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "pc_id, event_type, at";

/// Adds an entry.
pub(crate) fn write(connection: &Connection, log: &WorkerLogRecord) -> Result<(), Fault> {
    connection
        .prepare_cached("INSERT INTO pc_logs (pc_id, event_type, at) VALUES (?1, ?2, ?3)")?
        .execute(params![log.worker.as_str(), log.kind, log.at.0])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<WorkerLogRecord, Fault> {
    let fields = Fields::new("pc_logs", row);
    Ok(WorkerLogRecord {
        worker: fields.name(0)?,
        kind: fields.word(1, words::parse_worker_log_kind)?,
        at: fields.time(2)?,
    })
}
