//! Table `alerts`.

use crate::{
    fault::Fault,
    fields::Fields,
    id_text::{HexText, parse_hex},
    words,
};
use muster_model::AlertRecord;
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, kind, pc_id, task_id, message, at";

/// Adds an alert.
pub(crate) fn write(connection: &Connection, alert: &AlertRecord) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO alerts (id, kind, pc_id, task_id, message, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            HexText::new(alert.id).as_str(),
            alert.kind.as_str(),
            alert.worker.as_str(),
            alert.job.map(|job| job.to_string()),
            alert.message,
            alert.at.0,
        ])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<AlertRecord, Fault> {
    let fields = Fields::new("alerts", row);
    Ok(AlertRecord {
        id: fields.word(0, parse_hex)?,
        kind: fields.word(1, words::parse_alert_kind)?,
        worker: fields.name(2)?,
        job: if fields.is_null(3)? { None } else { Some(fields.id(3)?) },
        message: fields.text(4)?.into(),
        at: fields.time(5)?,
    })
}
