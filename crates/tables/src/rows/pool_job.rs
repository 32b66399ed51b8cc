//! Table `pool_jobs` (P13).

use super::{integer, latest, put, specs};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{Demand, Millis, PoolJobDraft, PoolJobId, PoolJobRecord, Specs, UserId};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "j.id, j.client_user_id, j.priority, j.max_attempts, j.asked_attempts, j.timeout_ms, \
     j.verify_output_hash, j.redundancy, j.created_at, j.region, j.demands, j.requires, j.payload";

/// What [`read`] expects, but with an empty payload.
pub(crate) const COLUMNS_WITHOUT_PAYLOAD: &str = "j.id, j.client_user_id, j.priority, j.max_attempts, j.asked_attempts, \
     j.timeout_ms, j.verify_output_hash, j.redundancy, j.created_at, j.region, j.demands, j.requires, \
     CAST('' AS TEXT) AS payload";

/// How many columns [`read`] expects.
pub(crate) const WIDTH: usize = 13;

/// Adds jobs.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&PoolJobRecord>) -> Result<(), Fault> {
    put(sink, &PUT, &latest(records, |record| record.id), fill)
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<PoolJobRecord, Fault> {
    let fields = Fields::new("pool_jobs", row);
    let requires = if fields.is_null(10)? { Specs::default() } else { fields.word(10, specs::parse)? };
    let draft = PoolJobDraft {
        payload: fields.text(12)?.into(),
        priority: fields.number(2)?,
        demand: Demand { region: fields.maybe_text(9)?, requires },
        requires_json: fields.maybe_text(11)?,
        max_attempts: fields.maybe_number(4)?,
        timeout: fields.maybe_number(5)?.map(Millis),
        verify_output_hash: fields.flag(6)?,
        redundancy: fields.number(7)?,
    };
    Ok(PoolJobRecord {
        id: PoolJobId(fields.number(0)?),
        client: UserId(fields.number(1)?),
        max_attempts: fields.number(3)?,
        draft,
        created_at: fields.time(8)?,
    })
}

fn fill(record: &PoolJobRecord, row: &mut dyn Row) -> Result<(), Fault> {
    let draft = &record.draft;
    row.values(&[
        integer(record.id.0)?.into(),
        integer(record.client.0)?.into(),
        draft.priority.into(),
        record.max_attempts.into(),
        draft.max_attempts.into(),
        draft.timeout.map(|timeout| timeout.0).into(),
        draft.verify_output_hash.into(),
        draft.redundancy.into(),
        record.created_at.into(),
        draft.demand.region.as_deref().into(),
        specs::text(&draft.demand.requires).as_deref().into(),
        draft.requires_json.as_deref().into(),
        (&*draft.payload).into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "pool_jobs",
    columns: &[
        number("id"),
        number("client_user_id"),
        number("priority"),
        number("max_attempts"),
        number("asked_attempts"),
        number("timeout_ms"),
        number("verify_output_hash"),
        number("redundancy"),
        number("created_at"),
        text("region"),
        text("demands"),
        text("requires"),
        text("payload"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
