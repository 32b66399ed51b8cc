//! Table `pc_stops`: what a PC must still be told to stop.

use crate::{fault::Fault, fields::Fields, id_text::TaskText};
use muster_model::{Name, TaskId};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "pc_id, task_device_id";

/// Writes that a worker must be told.
pub(crate) fn write(connection: &Connection, worker: &Name, task: TaskId) -> Result<(), Fault> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO pc_stops (pc_id, task_device_id) VALUES (?1, ?2)")?
        .execute(params![worker.as_str(), TaskText::new(task).task()])?;
    Ok(())
}

/// Deletes what a worker need no longer be told.
pub(crate) fn delete(connection: &Connection, worker: &Name, task: TaskId) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM pc_stops WHERE pc_id = ?1 AND task_device_id = ?2")?
        .execute(params![worker.as_str(), TaskText::new(task).task()])?;
    Ok(())
}

/// Makes a worker and a task of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<(Name, TaskId), Fault> {
    let fields = Fields::new("pc_stops", row);
    Ok((fields.name(0)?, fields.id(1)?))
}
