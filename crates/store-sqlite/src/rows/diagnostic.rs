//! Table `sim_diagnostics` (S4).

use crate::{fault::Fault, fields::Fields};
use muster_model::DiagnosticRecord;
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, worker_id, session_id, task_id, text, at";

/// Adds lines.
pub(crate) fn write(connection: &Connection, records: &[&DiagnosticRecord]) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO sim_diagnostics (worker_id, session_id, task_id, text, at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for line in records {
        statement.execute(params![
            line.worker.as_str(),
            line.session.as_str(),
            line.task.as_ref().map(ToString::to_string),
            line.text,
            line.at.0,
        ])?;
    }
    Ok(())
}

/// Makes a record of a row, with the number of the row.
pub(crate) fn read(row: &Row<'_>) -> Result<(u64, DiagnosticRecord), Fault> {
    let fields = Fields::new("sim_diagnostics", row);
    let line = DiagnosticRecord {
        worker: fields.name(1)?,
        session: fields.session(2)?,
        task: if fields.is_null(3)? { None } else { Some(fields.id(3)?) },
        text: fields.text(4)?.into(),
        at: fields.time(5)?,
    };
    Ok((fields.number(0)?, line))
}
