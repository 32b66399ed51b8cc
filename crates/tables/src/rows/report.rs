//! Tables `node_events` (the whole message) and `event_ids` (what a repeat is recognised by).

use super::{latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::{JobText, TaskText},
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{JobId, ReportId, ReportRecord, ReportSubject, ReportType};

/// The columns that [`read_subject`] expects, in its order.
pub(crate) const SUBJECT_COLUMNS: &str = "key, subject";

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
        row.values(&[key.as_bytes().into(), (&subject_bytes(report.subject)).into(), report.at.into()]);
        Ok(())
    })
}

/// Reads a report's id and subject. Schema version 4 stored a digest of 16 bytes in this column, which tells nothing
/// about the subject: `None`.
pub(crate) fn read_subject(row: &dyn Cells) -> Result<(ReportId, Option<ReportSubject>), Fault> {
    let fields = Fields::new("event_ids", row);
    let id = ReportKey::id(fields.blob(0)?).ok_or_else(|| fields.senseless(0))?;
    let bytes = fields.blob(1)?;
    if bytes.len() == DIGEST_BYTES {
        return Ok((id, None));
    }
    let subject = parse_subject(bytes).ok_or_else(|| fields.senseless(1))?;
    Ok((id, Some(subject)))
}

/// One byte for the type, 16 for the job and 4 for the ordinal.
fn subject_bytes(subject: ReportSubject) -> [u8; SUBJECT_BYTES] {
    let mut bytes = [0; SUBJECT_BYTES];
    bytes[0] = type_byte(subject.kind);
    bytes[1..17].copy_from_slice(&subject.job.0.to_be_bytes());
    bytes[17..].copy_from_slice(&subject.ordinal.to_be_bytes());
    bytes
}

fn parse_subject(bytes: &[u8]) -> Option<ReportSubject> {
    let bytes: &[u8; SUBJECT_BYTES] = bytes.try_into().ok()?;
    let (job, ordinal) = bytes[1..].split_at(16);
    Some(ReportSubject {
        kind: ReportType::ALL.into_iter().find(|kind| type_byte(*kind) == bytes[0])?,
        job: JobId(u128::from_be_bytes(job.try_into().ok()?)),
        ordinal: u32::from_be_bytes(ordinal.try_into().ok()?),
    })
}

const fn type_byte(kind: ReportType) -> u8 {
    match kind {
        ReportType::RunStarted => 1,
        ReportType::RunFinished => 2,
        ReportType::TaskStarted => 3,
        ReportType::TaskProgress => 4,
        ReportType::TaskFinished => 5,
    }
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
        report.subject.kind.as_str().into(),
        task.as_ref().map(TaskText::task).into(),
        report.effect.as_str().into(),
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
    columns: &[bytes("key"), bytes("subject"), number("at")],
    key: &["key"],
    numbered: false,
};

const SUBJECT_BYTES: usize = 21;
const DIGEST_BYTES: usize = 16;

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

    /// N5: every subject is read back as it was written.
    #[test]
    fn a_subject_is_read_back() {
        for kind in ReportType::ALL {
            for (job, ordinal) in [(JobId(1), 0), (JobId(u128::MAX), u32::MAX), (JobId(7 << 64), 4711)] {
                let subject = ReportSubject { kind, job, ordinal };
                assert_eq!(parse_subject(&subject_bytes(subject)), Some(subject));
            }
        }
        assert_eq!(parse_subject(&[9; SUBJECT_BYTES]), None);
        assert_eq!(parse_subject(&[1; 20]), None);
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
