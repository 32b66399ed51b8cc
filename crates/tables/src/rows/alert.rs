//! Table `alerts`.

use super::put_one;
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::{HexText, JobText, parse_hex},
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Sink},
};
use muster_model::AlertRecord;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, kind, pc_id, task_id, message, at";

/// Adds an alert.
pub(crate) fn write(sink: &mut dyn Sink, alert: &AlertRecord) -> Result<(), Fault> {
    let (id, job) = (HexText::new(alert.id), alert.job.map(JobText::new));
    put_one(
        sink,
        &PUT,
        &[
            id.as_str().into(),
            alert.kind.as_str().into(),
            alert.worker.as_str().into(),
            job.as_ref().map(JobText::as_str).into(),
            (&*alert.message).into(),
            alert.at.into(),
        ],
    )
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<AlertRecord, Fault> {
    let fields = Fields::new("alerts", row);
    Ok(AlertRecord {
        id: fields.word(0, parse_hex)?,
        kind: fields.word(1, muster_model::AlertKind::from_word)?,
        worker: fields.name(2)?,
        job: if fields.is_null(3)? { None } else { Some(fields.id(3)?) },
        message: fields.text(4)?.into(),
        at: fields.time(5)?,
    })
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "alerts",
    columns: &[text("id"), text("kind"), text("pc_id"), text("task_id"), text("message"), number("at")],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
