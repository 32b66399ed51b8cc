//! Table `devices`.

use super::{latest, put, scope};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::LaneRecord;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "id, pc_id, status, runtime_handle, attachment, failed, labels, offline_since, note, created_at";

/// Writes the last state of each device.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&LaneRecord>) -> Result<(), Fault> {
    put(sink, &PUT, &latest(records, |record| &record.id), fill)
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<LaneRecord, Fault> {
    let fields = Fields::new("devices", row);
    Ok(LaneRecord {
        id: fields.name(0)?,
        worker: fields.name(1)?,
        status: fields.word(2, muster_model::LaneStatus::from_word)?,
        handle: fields.name(3)?,
        attachment: fields.word(4, muster_model::Attachment::from_word)?,
        failed: fields.flag(5)?,
        labels: fields.word(6, scope::parse_labels)?,
        offline_since: fields.maybe_time(7)?,
        note: fields.maybe_text(8)?,
        created_at: fields.time(9)?,
    })
}

fn fill(lane: &LaneRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        lane.id.as_str().into(),
        lane.worker.as_str().into(),
        lane.status.as_str().into(),
        lane.handle.as_str().into(),
        lane.attachment.as_str().into(),
        lane.failed.into(),
        scope::labels_text(&lane.labels).as_str().into(),
        lane.offline_since.into(),
        lane.note.as_deref().into(),
        lane.created_at.into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "devices",
    columns: &[
        text("id"),
        text("pc_id"),
        text("status"),
        text("runtime_handle"),
        text("attachment"),
        number("failed"),
        text("labels"),
        number("offline_since"),
        text("note"),
        number("created_at"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Named);
