//! Table `pc_runs`: one run's part at one PC.

use crate::{fault::Fault, fields::Fields, id_text::TaskText};
use muster_model::{JobId, Name, ShareCounts, ShareRecord};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "pc_id, task_id, first_task_device_id, finished, completed, failed, failed_attempts";

/// Writes a share.
pub(crate) fn write(connection: &Connection, share: &ShareRecord) -> Result<(), Fault> {
    connection.prepare_cached(REPLACE)?.execute(params![
        share.worker.as_str(),
        share.job.to_string(),
        TaskText::new(share.first).task(),
        share.finished,
        share.counts.completed,
        share.counts.failed,
        share.counts.failed_attempts,
    ])?;
    Ok(())
}

/// Deletes a share.
pub(crate) fn delete(connection: &Connection, worker: &Name, job: JobId) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM pc_runs WHERE pc_id = ?1 AND task_id = ?2")?
        .execute(params![worker.as_str(), job.to_string()])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<ShareRecord, Fault> {
    let fields = Fields::new("pc_runs", row);
    Ok(ShareRecord {
        worker: fields.name(0)?,
        job: fields.id(1)?,
        first: fields.id(2)?,
        finished: fields.flag(3)?,
        counts: ShareCounts {
            completed: fields.number(4)?,
            failed: fields.number(5)?,
            failed_attempts: fields.number(6)?,
        },
    })
}

const REPLACE: &str = "INSERT OR REPLACE INTO pc_runs (pc_id, task_id, first_task_device_id, finished, completed, \
     failed, failed_attempts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
