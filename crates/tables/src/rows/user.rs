//! Table `users` (P1).

use super::{integer, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Sink},
    words,
};
use muster_model::{UserId, UserRecord};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, name, password_hash, roles, active, created_at";

/// Writes a user.
pub(crate) fn write(sink: &mut dyn Sink, user: &UserRecord) -> Result<(), Fault> {
    put_one(
        sink,
        &PUT,
        &[
            integer(user.id.0)?.into(),
            (&*user.name).into(),
            (&*user.password_hash).into(),
            words::roles(user.roles).as_str().into(),
            user.active.into(),
            user.created_at.into(),
        ],
    )
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<UserRecord, Fault> {
    let fields = Fields::new("users", row);
    Ok(UserRecord {
        id: UserId(fields.number(0)?),
        name: fields.text(1)?.into(),
        password_hash: fields.text(2)?.into(),
        roles: fields.word(3, words::parse_roles)?,
        active: fields.flag(4)?,
        created_at: fields.time(5)?,
    })
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "users",
    columns: &[
        number("id"),
        text("name"),
        text("password_hash"),
        text("roles"),
        number("active"),
        number("created_at"),
    ],
    key: &["id"],
    numbered: false,
};

/// To overwrite the whole row would delete another user of the same name.
static PUT: Put = TABLE.put(Update::Named);
