//! Table `api_keys` (P13).

use super::{integer, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Sink},
    words,
};
use muster_model::{ApiKeyRecord, UserId};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "id, user_id, name, prefix, hash, scopes, created_at, last_used_at, revoked_at";

/// Writes a key.
pub(crate) fn write(sink: &mut dyn Sink, key: &ApiKeyRecord) -> Result<(), Fault> {
    let scopes = key.scopes.map(words::roles);
    put_one(
        sink,
        &PUT,
        &[
            integer(key.id)?.into(),
            integer(key.user.0)?.into(),
            (&*key.name).into(),
            (&*key.prefix).into(),
            (&key.hash).into(),
            scopes.as_deref().into(),
            key.created_at.into(),
            key.last_used_at.into(),
            key.revoked_at.into(),
        ],
    )
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<ApiKeyRecord, Fault> {
    let fields = Fields::new("api_keys", row);
    Ok(ApiKeyRecord {
        id: fields.number(0)?,
        user: UserId(fields.number(1)?),
        name: fields.text(2)?.into(),
        prefix: fields.text(3)?.into(),
        hash: fields.bytes(4)?,
        scopes: if fields.is_null(5)? { None } else { Some(fields.word(5, words::parse_roles)?) },
        created_at: fields.time(6)?,
        last_used_at: fields.maybe_time(7)?,
        revoked_at: fields.maybe_time(8)?,
    })
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "api_keys",
    columns: &[
        number("id"),
        number("user_id"),
        text("name"),
        text("prefix"),
        bytes("hash"),
        text("scopes"),
        number("created_at"),
        number("last_used_at"),
        number("revoked_at"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
