//! Tables `node_events` (the whole message) and `event_ids` (what a repeat is recognised by).

use crate::{fault::Fault, fields::Fields, id_text::TaskText, words};
use muster_model::{Digest, JobId, ReportId, ReportRecord};
use rusqlite::{Connection, params};

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
        id.execute(params![key(&report.id), report.digest.0.to_be_bytes(), report.at.0])?;
    }
    Ok(())
}

/// The digest of the report that had this id.
pub(crate) fn digest(connection: &Connection, id: &ReportId) -> Result<Option<Digest>, Fault> {
    super::one(connection, "SELECT key, digest FROM event_ids WHERE key = ?1", [key(id)], |row| {
        Fields::new("event_ids", row).digest(1)
    })
}

/// The id itself, a UUID as its 16 bytes.
///
/// Not a hash: ids that sort by time, as UUIDs of version 7 do, then fall on the same few pages, where
/// hashes would make every report write a page of its own.
fn key(id: &ReportId) -> Vec<u8> {
    let text = id.as_str();
    match text.parse::<JobId>() {
        // Only what is written exactly so: an id in capitals is another id.
        Ok(uuid) if uuid.to_string() == text => [b"u".as_slice(), &uuid.0.to_be_bytes()].concat(),
        _ => [b"t".as_slice(), text.as_bytes()].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_ids_have_different_keys() {
        let uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
        let texts = [uuid, &uuid.to_uppercase(), &uuid.replace('-', ""), "u123456789abcdef", "t", "u"];
        let keys: std::collections::BTreeSet<Vec<u8>> =
            texts.iter().map(|text| key(&ReportId::new(text).unwrap())).collect();
        assert_eq!(keys.len(), texts.len());
        assert_eq!(key(&ReportId::new(uuid).unwrap()).len(), 17);
    }
}
