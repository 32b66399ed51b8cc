//! Tables `node_events` (the whole message) and `event_ids` (what a repeat is recognised by).

use crate::{
    record::{record, table, write_all, write_latest},
    sql::{Fault, Sink, Sql},
};
use muster_model::{JobId, JobText, ReportId, ReportRecord, ReportSubject, ReportType, Timestamp};

table! {
    write_only ReportRecord in "node_events", key ["id"], put Never {
        id: Text("event_id"),
        worker: Text("node_id"),
        _: Text("type") = subject.kind,
        task: Text("task_id"),
        effect: Text("effect"),
        body: Text("body"),
        at: Number("at"),
    }
    row ReportRecord { id, subject, worker, task, effect, body, at }
    numbered "id"
}

/// Part of a report that is kept long after its body is deleted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReportedId {
    pub(crate) id: ReportId,
    pub(crate) subject: StoredSubject,
    at: Timestamp,
}

table! {
    ReportedId in "event_ids", key ["key"], put Whole {
        id: Bytes("key"),
        subject: Bytes("subject"),
        at: Number("at"),
    }
}

/// The subject of a report, as column `event_ids.subject` holds it.
///
/// Schema version 4 stored a digest of 16 bytes in this column, which tells nothing about the subject: `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredSubject(pub(crate) Option<ReportSubject>);

/// A report's id as it is stored in column `event_ids.key`.
pub(crate) enum ReportKey {
    /// A UUID.
    Uuid([u8; 17]),
    /// Anything else.
    Text(Vec<u8>),
}

/// Adds reports.
pub(crate) fn write(sink: &mut dyn Sink, records: &[&ReportRecord]) -> Result<(), Fault> {
    write_all(sink, records)?;
    let reported = |report: &&ReportRecord| ReportedId {
        id: report.id.clone(),
        subject: StoredSubject(Some(report.subject)),
        at: report.at,
    };
    let ids: Vec<ReportedId> = records.iter().map(reported).collect();
    write_latest(sink, ids.iter().collect(), |report| &report.id)
}

/// The last of the ids, in the order of their texts. UUIDs and other ids are sorted apart in the table.
pub(crate) fn newest(connection: &dyn Sql) -> Result<Option<ReportId>, Fault> {
    let last = |rest: &str| {
        let rest = format!("WHERE key {rest} ORDER BY key DESC LIMIT 1");
        record::<ReportedId>(connection, &rest, &[b"u".into()])
    };
    Ok(last(">= ?1")?.into_iter().chain(last("< ?1")?).map(|last| last.id).max())
}

impl StoredSubject {
    /// One byte for the type, 16 for the job and 4 for the ordinal.
    pub(crate) fn bytes(self) -> Vec<u8> {
        let Some(subject) = self.0 else {
            return vec![0; DIGEST_BYTES];
        };
        let (job, ordinal) = (subject.job.0.to_be_bytes(), subject.ordinal.to_be_bytes());
        [&[type_byte(subject.kind)], job.as_slice(), ordinal.as_slice()].concat()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() == DIGEST_BYTES {
            return Some(Self(None));
        }
        let bytes: &[u8; SUBJECT_BYTES] = bytes.try_into().ok()?;
        let (job, ordinal) = bytes[1..].split_at(16);
        Some(Self(Some(ReportSubject {
            kind: ReportType::ALL.into_iter().find(|kind| type_byte(*kind) == bytes[0])?,
            job: JobId(u128::from_be_bytes(job.try_into().ok()?)),
            ordinal: u32::from_be_bytes(ordinal.try_into().ok()?),
        })))
    }
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
        match id.as_uuid() {
            Some(uuid) => {
                let mut key = [b'u'; 17];
                key[1..].copy_from_slice(&uuid.to_be_bytes());
                Self::Uuid(key)
            }
            None => Self::Text([b"t", id.as_str().as_bytes()].concat()),
        }
    }

    /// The id that has a key.
    pub(crate) fn id(key: &[u8]) -> Option<ReportId> {
        match key.split_first()? {
            (b'u', uuid) => {
                let uuid = JobId(u128::from_be_bytes(uuid.try_into().ok()?));
                ReportId::new(JobText::new(uuid).as_str()).ok()
            }
            (b't', text) => ReportId::new(std::str::from_utf8(text).ok()?).ok(),
            _ => None,
        }
    }

    /// Value of the column.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Uuid(key) => key,
            Self::Text(key) => key,
        }
    }
}

const SUBJECT_BYTES: usize = 21;
const DIGEST_BYTES: usize = 16;

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
                let stored = StoredSubject(Some(subject));
                assert_eq!(StoredSubject::parse(&stored.bytes()), Some(stored));
            }
        }
        assert_eq!(StoredSubject::parse(&[9; SUBJECT_BYTES]), None);
        assert_eq!(StoredSubject::parse(&[1; 20]), None);
        assert_eq!(StoredSubject::parse(&[1; DIGEST_BYTES]), Some(StoredSubject(None)));
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
