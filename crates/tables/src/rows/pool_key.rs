//! Table `pool_keys` (P13).

use super::{integer, latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{PoolJobId, PoolKeyRecord, SubmissionKey, UserId};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "key, client_user_id, digest, first_job, count, at";

/// Adds keys.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&PoolKeyRecord>) -> Result<(), Fault> {
    put(sink, &PUT, &latest(records, |record| (record.client, &record.key)), fill)
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<PoolKeyRecord, Fault> {
    let fields = Fields::new("pool_keys", row);
    Ok(PoolKeyRecord {
        client: UserId(fields.number(1)?),
        key: fields.word(0, |text| SubmissionKey::new(text).ok())?,
        digest: fields.digest(2)?,
        first: PoolJobId(fields.number(3)?),
        count: fields.number(4)?,
        at: fields.time(5)?,
    })
}

fn fill(key: &PoolKeyRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        integer(key.client.0)?.into(),
        key.key.as_str().into(),
        (&key.digest.0.to_be_bytes()).into(),
        integer(key.first.0)?.into(),
        key.count.into(),
        key.at.into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "pool_keys",
    columns: &[
        number("client_user_id"),
        text("key"),
        bytes("digest"),
        number("first_job"),
        number("count"),
        number("at"),
    ],
    key: &["client_user_id", "key"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
