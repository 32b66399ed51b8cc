//! Tables `node_events` (the whole message) and `event_ids` (what a repeat is recognised by).

use super::{latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::{JobText, TaskText},
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Row, Sink},
    words,
};
use muster_model::{Digest, JobId, ReportId, ReportRecord};

/// What [`read_digest`] expects, in its order.
pub(crate) const DIGEST_COLUMNS: &str = "key, digest";

/// What a report's id is in column `event_ids.key`.
pub(crate) enum ReportKey {
    /// A UUID.
    Uuid([u8; 17]),
    /// Anything else.
    Text(Vec<u8>),
}

/// Adds reports.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&ReportRecord>) -> Result<(), Fault> {
    put(sink, &PUT_MESSAGE, &records, fill_message)?;
    put(sink, &PUT_ID, &latest(records, |record| &record.id), |report, row| {
        let key = ReportKey::new(&report.id);
        row.values(&[key.as_bytes().into(), (&report.digest.0.to_be_bytes()).into(), report.at.into()]);
        Ok(())
    })
}

/// Makes a report's id and digest of a row.
pub(crate) fn read_digest(row: &dyn Cells) -> Result<(ReportId, Digest), Fault> {
    let fields = Fields::new("event_ids", row);
    let id = ReportKey::id(fields.blob(0)?).ok_or_else(|| fields.senseless(0))?;
    Ok((id, fields.digest(1)?))
}

impl ReportKey {
    /// The id itself, a UUID as its 16 bytes.
    ///
    /// Not a hash: ids that sort by time, as UUIDs of version 7 do, then fall on the same few pages, where
    /// hashes would make every report write a page of its own.
    pub(crate) fn new(id: &ReportId) -> Self {
        let text = id.as_str();
        match text.parse::<JobId>() {
            // Only what is written exactly so: an id in capitals is another id.
            Ok(uuid) if JobText::new(uuid).as_str() == text => {
                let mut key = [b'u'; 17];
                key[1..].copy_from_slice(&uuid.0.to_be_bytes());
                Self::Uuid(key)
            }
            _ => Self::Text([b"t", text.as_bytes()].concat()),
        }
    }

    /// The id that has a key.
    fn id(key: &[u8]) -> Option<ReportId> {
        match key.split_first()? {
            (b'u', uuid) => {
                let uuid = JobId(u128::from_be_bytes(uuid.try_into().ok()?));
                ReportId::new(JobText::new(uuid).as_str()).ok()
            }
            (b't', text) => ReportId::new(std::str::from_utf8(text).ok()?).ok(),
            _ => None,
        }
    }

    /// What stands in the column.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Uuid(key) => key,
            Self::Text(key) => key,
        }
    }
}

fn fill_message(report: &ReportRecord, row: &mut dyn Row) -> Result<(), Fault> {
    let task = report.task.map(TaskText::new);
    row.values(&[
        report.id.as_str().into(),
        report.worker.as_str().into(),
        report.kind.into(),
        task.as_ref().map(TaskText::task).into(),
        words::effect(report.effect).into(),
        (&*report.body).into(),
        report.at.into(),
    ]);
    Ok(())
}

/// The table of whole messages.
pub(crate) const MESSAGES: TableShape = TableShape {
    name: "node_events",
    columns: &[
        text("event_id"),
        text("node_id"),
        text("type"),
        text("task_id"),
        text("effect"),
        text("body"),
        number("at"),
        number("id"),
    ],
    key: &["id"],
    numbered: true,
};

/// The table of what must be remembered of a report long after its body is gone.
pub(crate) const IDS: TableShape = TableShape {
    name: "event_ids",
    columns: &[bytes("key"), bytes("digest"), number("at")],
    key: &["key"],
    numbered: false,
};

static PUT_MESSAGE: Put = MESSAGES.put_numbered();

static PUT_ID: Put = IDS.put(Update::Whole);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_ids_have_different_keys() {
        let uuid = "01890a5d-ac96-774b-bcce-b302099a8057";
        let texts = [uuid, &uuid.to_uppercase(), &uuid.replace('-', ""), "u123456789abcdef", "t", "u"];
        let keys: std::collections::BTreeSet<Vec<u8>> = texts
            .iter()
            .map(|text| ReportKey::new(&ReportId::new(text).unwrap()).as_bytes().to_vec())
            .collect();
        assert_eq!(keys.len(), texts.len());
        assert_eq!(ReportKey::new(&ReportId::new(uuid).unwrap()).as_bytes().len(), 17);
    }

    #[test]
    fn the_id_is_found_in_its_key() {
        for text in
            ["01890a5d-ac96-774b-bcce-b302099a8057", "01890A5D-AC96-774B-BCCE-B302099A8057", "u", "기기"]
        {
            let id = ReportId::new(text).unwrap();
            assert_eq!(ReportKey::id(ReportKey::new(&id).as_bytes()), Some(id));
        }
        for nonsense in [b"".as_slice(), b"u", b"u123", b"t", b"t\xff", b"x1"] {
            assert_eq!(ReportKey::id(nonsense), None, "{nonsense:?}");
        }
    }
}
