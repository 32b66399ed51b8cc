//! Table `idempotency_keys` (Q15).

use super::{latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::JobText,
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{KeyRecord, SubmissionKey};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "key, digest, task_id, status, at";

/// Adds keys.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&KeyRecord>) -> Result<(), Fault> {
    put(sink, &PUT, &latest(records, |record| &record.key), fill)
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<KeyRecord, Fault> {
    let fields = Fields::new("idempotency_keys", row);
    Ok(KeyRecord {
        key: fields.word(0, |text| SubmissionKey::new(text).ok())?,
        digest: fields.digest(1)?,
        job: fields.id(2)?,
        status: fields.word(3, muster_model::JobStatus::from_word)?,
        at: fields.time(4)?,
    })
}

fn fill(key: &KeyRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        key.key.as_str().into(),
        (&key.digest.0.to_be_bytes()).into(),
        JobText::new(key.job).as_str().into(),
        key.status.as_str().into(),
        key.at.into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "idempotency_keys",
    columns: &[text("key"), bytes("digest"), text("task_id"), text("status"), number("at")],
    key: &["key"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
