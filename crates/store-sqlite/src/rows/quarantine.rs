//! Table `sim_quarantine` (S15).

use super::integer;
use crate::{fault::Fault, fields::Fields};
use muster_model::QuarantineRecord;
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, session_id, output_directory, worker_id, moved, files, confirmed, at";

/// Writes an entry.
pub(crate) fn write(connection: &Connection, entry: &QuarantineRecord) -> Result<(), Fault> {
    connection.prepare_cached(REPLACE)?.execute(params![
        entry.id.to_string(),
        entry.session.as_str(),
        entry.output,
        entry.worker.as_str(),
        entry.moved,
        integer(entry.files)?,
        entry.confirmed.as_deref(),
        entry.at.0,
    ])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<QuarantineRecord, Fault> {
    let fields = Fields::new("sim_quarantine", row);
    Ok(QuarantineRecord {
        id: fields.id(0)?,
        session: fields.session(1)?,
        output: fields.text(2)?.into(),
        worker: fields.name(3)?,
        moved: fields.flag(4)?,
        files: fields.number(5)?,
        confirmed: fields.maybe_text(6)?,
        at: fields.time(7)?,
    })
}

const REPLACE: &str = "INSERT OR REPLACE INTO sim_quarantine (id, session_id, output_directory, worker_id, moved, files, \
     confirmed, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
