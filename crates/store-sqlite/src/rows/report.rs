//! Tables `node_events` (the whole message) and `event_ids` (what a repeat is recognised by).

use crate::{fault::Fault, fields::Fields, id_text::TaskText, words};
use muster_model::{Digest, ReportId, ReportRecord};
use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};

/// Adds reports.
pub(crate) fn write(connection: &Connection, records: &[&ReportRecord]) -> Result<(), Fault> {
    let mut message = connection.prepare_cached(
        "INSERT INTO node_events (event_id, node_id, type, task_id, effect, body, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut id = connection
        .prepare_cached("INSERT OR REPLACE INTO event_ids (key, digest, at) VALUES (?1, ?2, ?3)")?;
    for report in records {
        let task = report.task.map(TaskText::new);
        message.execute(params![
            report.id.as_str(),
            report.worker.as_str(),
            report.kind,
            task.as_ref().map(TaskText::task),
            words::effect(report.effect),
            report.body,
            report.at.0,
        ])?;
        id.execute(params![
            key(&report.id),
            report.digest.0.to_be_bytes(),
            report.at.0
        ])?;
    }
    Ok(())
}

/// The digest of the report that had this id.
pub(crate) fn digest(connection: &Connection, id: &ReportId) -> Result<Option<Digest>, Fault> {
    super::one(
        connection,
        "SELECT key, digest FROM event_ids WHERE key = ?1",
        [key(id)],
        |row| {
            Ok(Digest(u128::from_be_bytes(
                Fields::new("event_ids", row).bytes(1)?,
            )))
        },
    )
}

/// The first half of the SHA-256: nobody finds two ids with the same.
fn key(id: &ReportId) -> [u8; 16] {
    let hash = Sha256::digest(id.as_str().as_bytes());
    let mut key = [0; 16];
    key.copy_from_slice(&hash[..16]);
    key
}
