//! Table `pcs`.

use super::{latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{Name, Timestamp, WorkerRecord};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, status, status_since, max_devices, draining, paused_until, lease_until, \
     last_seen_at, created_at, heartbeat_late_since";

/// Writes the last state of each worker.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&WorkerRecord>) -> Result<(), Fault> {
    put(sink, &PUT, &latest(records, |record| &record.id), fill)
}

/// Writes signs of life down, where they are news.
pub(crate) fn write_sightings(sink: &mut dyn Sink, sightings: &[(Name, Timestamp)]) -> Result<(), Fault> {
    let mut last: Vec<_> = sightings.iter().collect();
    last.sort_by_key(|(_, at)| *at);
    put(sink, &SEEN, &latest(last, |(worker, _)| worker), |(worker, at), row| {
        row.values(&[worker.as_str().into(), (*at).into()]);
        Ok(())
    })
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<WorkerRecord, Fault> {
    let fields = Fields::new("pcs", row);
    Ok(WorkerRecord {
        id: fields.name(0)?,
        status: fields.word(1, muster_model::WorkerStatus::from_word)?,
        status_since: fields.time(2)?,
        cap: fields.maybe_number(3)?,
        draining: fields.flag(4)?,
        paused_until: fields.maybe_time(5)?,
        lease_until: fields.time(6)?,
        last_seen: fields.time(7)?,
        created_at: fields.time(8)?,
        heartbeat_late_since: fields.maybe_time(9)?,
    })
}

fn fill(worker: &WorkerRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        worker.id.as_str().into(),
        worker.last_seen.into(),
        worker.id.as_str().into(),
        worker.status.as_str().into(),
        worker.status_since.into(),
        worker.cap.into(),
        worker.draining.into(),
        worker.paused_until.into(),
        worker.lease_until.into(),
        worker.created_at.into(),
        worker.heartbeat_late_since.into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "pcs",
    columns: &[
        text("id"),
        number("last_seen_at"),
        text("pc_number"),
        text("status"),
        number("status_since"),
        number("max_devices"),
        number("draining"),
        number("paused_until"),
        number("lease_until"),
        number("created_at"),
        number("heartbeat_late_since"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);

static SEEN: Put = TABLE.put_first(2, Update::Raise);
