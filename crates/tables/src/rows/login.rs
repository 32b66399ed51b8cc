//! Table `logins` (P1).

use super::{integer, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, bytes, number},
    sql::{Cells, Sink},
};
use muster_model::{LoginRecord, UserId};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, user_id, generation, expires_at";

/// Writes a login.
pub(crate) fn write(sink: &mut dyn Sink, login: &LoginRecord) -> Result<(), Fault> {
    put_one(
        sink,
        &PUT,
        &[
            (&login.id.to_be_bytes()).into(),
            integer(login.user.0)?.into(),
            login.generation.into(),
            login.expires_at.into(),
        ],
    )
}

/// Deletes a login.
pub(crate) fn delete(sink: &mut dyn Sink, id: u128) -> Result<(), Fault> {
    put_one(sink, &GONE, &[(&id.to_be_bytes()).into()])
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<LoginRecord, Fault> {
    let fields = Fields::new("logins", row);
    Ok(LoginRecord {
        id: u128::from_be_bytes(fields.bytes(0)?),
        user: UserId(fields.number(1)?),
        generation: fields.number(2)?,
        expires_at: fields.time(3)?,
    })
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "logins",
    columns: &[bytes("id"), number("user_id"), number("generation"), number("expires_at")],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);

static GONE: Put = TABLE.put_first(1, Update::Gone);
