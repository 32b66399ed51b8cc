//! Table `pc_stops`: what a PC must still be told to stop.

use super::{latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::TaskText,
    shape::{Put, TableShape, Update, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{Name, TaskId};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "pc_id, task_device_id";

/// What a worker must be told to stop, and whether it need no longer be.
pub(crate) type Changed<'a> = ((&'a Name, TaskId), bool);

/// Writes what a worker must be told, and deletes what it need no longer be.
pub(crate) fn write(sink: &mut dyn Sink, changes: &[Changed<'_>]) -> Result<(), Fault> {
    let last = latest(changes.iter().collect(), |(key, _)| *key);
    let (gone, told): (Vec<_>, Vec<_>) = last.into_iter().partition(|(_, gone)| *gone);
    put(sink, &PUT, &told, fill)?;
    put(sink, &GONE, &gone, fill)
}

/// Makes a worker and a task of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<(Name, TaskId), Fault> {
    let fields = Fields::new("pc_stops", row);
    Ok((fields.name(0)?, fields.id(1)?))
}

fn fill(((worker, task), _): &Changed<'_>, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[worker.as_str().into(), TaskText::new(*task).task().into()]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "pc_stops",
    columns: &[text("pc_id"), text("task_device_id")],
    key: &["pc_id", "task_device_id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);

static GONE: Put = TABLE.put(Update::Gone);
