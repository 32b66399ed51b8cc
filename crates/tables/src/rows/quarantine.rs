//! Table `sim_quarantine` (S15).

use super::{integer, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Sink},
};
use muster_model::QuarantineRecord;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, session_id, output_directory, worker_id, moved, files, confirmed, at";

/// Writes an entry.
pub(crate) fn write(sink: &mut dyn Sink, entry: &QuarantineRecord) -> Result<(), Fault> {
    put_one(
        sink,
        &PUT,
        &[
            entry.id.to_string().as_str().into(),
            entry.session.as_str().into(),
            (&*entry.output).into(),
            entry.worker.as_str().into(),
            entry.moved.into(),
            integer(entry.files)?.into(),
            entry.confirmed.as_deref().into(),
            entry.at.into(),
        ],
    )
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<QuarantineRecord, Fault> {
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

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "sim_quarantine",
    columns: &[
        text("id"),
        text("session_id"),
        text("output_directory"),
        text("worker_id"),
        number("moved"),
        number("files"),
        text("confirmed"),
        number("at"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
