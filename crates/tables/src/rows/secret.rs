//! Table `pc_secrets`.

use super::{integer, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Sink},
};
use muster_model::{Name, SecretRecord};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "pc_id, sha256, valid_until";

/// Replaces all secrets of a worker.
pub(crate) fn write(sink: &mut dyn Sink, worker: &Name, secrets: &[SecretRecord]) -> Result<(), Fault> {
    put_one(sink, &GONE, &[worker.as_str().into()])?;
    sink.put(&PUT, secrets.len(), &mut |place, row| {
        let secret = &secrets[place];
        row.values(&[
            worker.as_str().into(),
            integer(place as u64)?.into(),
            (&secret.hash).into(),
            secret.valid_until.into(),
        ]);
        Ok(())
    })
}

/// Makes a record of a row, with the worker it belongs to.
pub(crate) fn read(row: &dyn Cells) -> Result<(Name, SecretRecord), Fault> {
    let fields = Fields::new("pc_secrets", row);
    let secret = SecretRecord { hash: fields.bytes(1)?, valid_until: fields.maybe_time(2)? };
    Ok((fields.name(0)?, secret))
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "pc_secrets",
    columns: &[text("pc_id"), number("place"), bytes("sha256"), number("valid_until")],
    key: &["pc_id", "place"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Never);

/// All of a worker.
static GONE: Put = TABLE.put_first(1, Update::Gone);
