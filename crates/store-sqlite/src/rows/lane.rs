//! Table `devices`.

use super::{latest, scope};
use crate::{fault::Fault, fields::Fields, words};
use muster_model::LaneRecord;
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "id, pc_id, status, runtime_handle, attachment, failed, labels, offline_since, note, created_at";

/// Writes the last state of each device.
pub(crate) fn write(connection: &Connection, records: Vec<&LaneRecord>) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(UPSERT)?;
    for lane in latest(records, |record| record.id.clone()) {
        statement.execute(params![
            lane.id.as_str(),
            lane.worker.as_str(),
            lane.status.as_str(),
            lane.handle.as_str(),
            lane.attachment.as_str(),
            lane.failed,
            scope::labels_text(&lane.labels),
            lane.offline_since.map(|at| at.0),
            lane.note.as_deref(),
            lane.created_at.0,
        ])?;
    }
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<LaneRecord, Fault> {
    let fields = Fields::new("devices", row);
    Ok(LaneRecord {
        id: fields.name(0)?,
        worker: fields.name(1)?,
        status: fields.word(2, words::parse_lane_status)?,
        handle: fields.name(3)?,
        attachment: fields.word(4, words::parse_attachment)?,
        failed: fields.flag(5)?,
        labels: fields.word(6, scope::parse_labels)?,
        offline_since: fields.maybe_time(7)?,
        note: fields.maybe_text(8)?,
        created_at: fields.time(9)?,
    })
}

const UPSERT: &str = "INSERT INTO devices (id, pc_id, status, runtime_handle, attachment, failed, labels, \
     offline_since, note, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
     ON CONFLICT (id) DO UPDATE SET pc_id = ?2, status = ?3, runtime_handle = ?4, attachment = ?5, failed = ?6, \
     labels = ?7, offline_since = ?8, note = ?9, created_at = ?10";
