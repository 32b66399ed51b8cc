//! Table `sim_diagnostics` (S4, S20b).

use super::put;
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::DiagnosticRecord;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, worker_id, session_id, task_id, text, at, kind";

/// Adds lines.
pub(crate) fn write(sink: &mut dyn Sink, records: &[&DiagnosticRecord]) -> Result<(), Fault> {
    put(sink, &PUT, records, fill)
}

/// Makes a record of a row, with the number of the row.
pub(crate) fn read(row: &dyn Cells) -> Result<(u64, DiagnosticRecord), Fault> {
    let fields = Fields::new("sim_diagnostics", row);
    let line = DiagnosticRecord {
        worker: fields.name(1)?,
        session: fields.session(2)?,
        task: if fields.is_null(3)? { None } else { Some(fields.id(3)?) },
        text: fields.text(4)?.into(),
        at: fields.time(5)?,
        kind: fields.word(6, muster_model::DiagnosticKind::from_word)?,
    };
    Ok((fields.number(0)?, line))
}

fn fill(line: &DiagnosticRecord, row: &mut dyn Row) -> Result<(), Fault> {
    let task = line.task.as_ref().map(ToString::to_string);
    row.values(&[
        line.worker.as_str().into(),
        line.session.as_str().into(),
        task.as_deref().into(),
        (&*line.text).into(),
        line.at.into(),
        line.kind.as_str().into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "sim_diagnostics",
    columns: &[
        text("worker_id"),
        text("session_id"),
        text("task_id"),
        text("text"),
        number("at"),
        text("kind"),
        number("id"),
    ],
    key: &["id"],
    numbered: true,
};

static PUT: Put = TABLE.put_numbered();
