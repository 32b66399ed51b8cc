//! Table `pc_logs`.

use super::put_one;
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, number, text},
    sql::{Cells, Sink},
};
use muster_model::WorkerLogRecord;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "pc_id, event_type, at";

/// Adds an entry.
pub(crate) fn write(sink: &mut dyn Sink, log: &WorkerLogRecord) -> Result<(), Fault> {
    put_one(sink, &PUT, &[log.worker.as_str().into(), log.kind.as_str().into(), log.at.into()])
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<WorkerLogRecord, Fault> {
    let fields = Fields::new("pc_logs", row);
    Ok(WorkerLogRecord {
        worker: fields.name(0)?,
        kind: fields.word(1, muster_model::WorkerLogKind::from_word)?,
        at: fields.time(2)?,
    })
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "pc_logs",
    columns: &[text("pc_id"), text("event_type"), number("at"), number("id")],
    key: &["id"],
    numbered: true,
};

static PUT: Put = TABLE.put_numbered();
