//! Table `workers` (P3, P12).

use super::{integer, latest, put, specs, split};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{PoolWorkerId, PoolWorkerRecord, PoolWorkerStatus, Specs, Timestamp, UserId};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, name, owner_user_id, status, region, specs, public_key, slots, draining, \
     ban_reason, agreements, dissents, last_seen_at, created_at, specs_json";

/// What [`read`] expects, but for the specs as JSON.
pub(crate) const COLUMNS_WITHOUT_JSON: &str = "id, name, owner_user_id, status, region, specs, public_key, slots, \
     draining, ban_reason, agreements, dissents, last_seen_at, created_at, CAST(NULL AS TEXT) AS specs_json";

/// Writes the last state of each worker; leaves its specs as JSON where the record has none.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&PoolWorkerRecord>) -> Result<(), Fault> {
    let (whole, keeping) = split(records, |record| record.id, |record| record.specs_json.is_none());
    put(sink, &PUT, &whole, fill)?;
    put(sink, &PUT, &keeping, fill)
}

/// Writes signs of life down, where they are news; whether a worker is shut out is another matter (P5).
pub(crate) fn write_sightings(
    sink: &mut dyn Sink,
    sightings: &[(PoolWorkerId, Timestamp)],
) -> Result<(), Fault> {
    let mut last: Vec<_> = sightings.iter().collect();
    last.sort_by_key(|(_, at)| *at);
    put(sink, &SEEN, &latest(last, |(worker, _)| *worker), |(worker, at), row| {
        row.values(&[integer(worker.0)?.into(), (*at).into()]);
        Ok(())
    })
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<PoolWorkerRecord, Fault> {
    let fields = Fields::new("workers", row);
    Ok(PoolWorkerRecord {
        id: PoolWorkerId(fields.number(0)?),
        name: fields.text(1)?.into(),
        owner: UserId(fields.number(2)?),
        status: fields.word(3, PoolWorkerStatus::from_word)?,
        region: fields.maybe_text(4)?,
        specs: if fields.is_null(5)? { Specs::default() } else { fields.word(5, specs::parse)? },
        public_key: fields.maybe_text(6)?,
        slots: fields.number(7)?,
        draining: fields.flag(8)?,
        ban_reason: fields.maybe_text(9)?,
        agreements: fields.number(10)?,
        dissents: fields.number(11)?,
        last_seen: fields.maybe_time(12)?,
        created_at: fields.time(13)?,
        specs_json: fields.maybe_text(14)?,
    })
}

fn fill(worker: &PoolWorkerRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        integer(worker.id.0)?.into(),
        worker.last_seen.into(),
        (&*worker.name).into(),
        integer(worker.owner.0)?.into(),
        worker.status.as_str().into(),
        worker.region.as_deref().into(),
        specs::text(&worker.specs).as_deref().into(),
        worker.public_key.as_deref().into(),
        worker.slots.into(),
        worker.draining.into(),
        worker.ban_reason.as_deref().into(),
        worker.agreements.into(),
        worker.dissents.into(),
        worker.created_at.into(),
        worker.specs_json.as_deref().into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "workers",
    columns: &[
        number("id"),
        number("last_seen_at"),
        text("name"),
        number("owner_user_id"),
        text("status"),
        text("region"),
        text("specs"),
        text("public_key"),
        number("slots"),
        number("draining"),
        text("ban_reason"),
        number("agreements"),
        number("dissents"),
        number("created_at"),
        text("specs_json"),
    ],
    key: &["id"],
    numbered: false,
};

/// To overwrite the whole row would delete another worker of the same name. What was seen stays seen.
static PUT: Put = TABLE.put(Update::Set(
    "name = excluded.name, owner_user_id = excluded.owner_user_id, status = excluded.status, region = excluded.region, \
     specs = excluded.specs, public_key = excluded.public_key, slots = excluded.slots, draining = excluded.draining, \
     ban_reason = excluded.ban_reason, agreements = excluded.agreements, dissents = excluded.dissents, \
     last_seen_at = CASE WHEN workers.last_seen_at > excluded.last_seen_at OR excluded.last_seen_at IS NULL \
     THEN workers.last_seen_at ELSE excluded.last_seen_at END, created_at = excluded.created_at, \
     specs_json = coalesce(excluded.specs_json, workers.specs_json)",
));

static SEEN: Put = TABLE.put_first(2, Update::Raise);
