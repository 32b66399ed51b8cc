//! Table `pc_runs`: one run's part at one PC.

use super::{latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::{JobText, TaskText},
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{JobId, Name, ShareCounts, ShareRecord};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "pc_id, task_id, first_task_device_id, finished, completed, failed, failed_attempts";

/// What became of the share of a worker and a job; `None`: it is gone.
pub(crate) type Changed<'a> = ((&'a Name, JobId), Option<&'a ShareRecord>);

/// Writes the last state of each share; deletes those that are gone.
pub(crate) fn write(sink: &mut dyn Sink, changes: &[Changed<'_>]) -> Result<(), Fault> {
    let last = latest(changes.iter().collect(), |(key, _)| *key);
    let written: Vec<_> = last.iter().filter_map(|(_, share)| *share).collect();
    put(sink, &PUT, &written, fill)?;
    let gone: Vec<_> = last.into_iter().filter(|(_, share)| share.is_none()).collect();
    put(sink, &GONE, &gone, |((worker, job), _), row| {
        row.values(&[worker.as_str().into(), JobText::new(*job).as_str().into()]);
        Ok(())
    })
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<ShareRecord, Fault> {
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

fn fill(share: &ShareRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        share.worker.as_str().into(),
        JobText::new(share.job).as_str().into(),
        TaskText::new(share.first).task().into(),
        share.finished.into(),
        share.counts.completed.into(),
        share.counts.failed.into(),
        share.counts.failed_attempts.into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "pc_runs",
    columns: &[
        text("pc_id"),
        text("task_id"),
        text("first_task_device_id"),
        number("finished"),
        number("completed"),
        number("failed"),
        number("failed_attempts"),
    ],
    key: &["pc_id", "task_id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);

static GONE: Put = TABLE.put_first(2, Update::Gone);
