//! Table `api_keys` (P13).

use super::integer;
use crate::{fault::Fault, fields::Fields, words};
use muster_model::{ApiKeyRecord, UserId};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "id, user_id, name, prefix, hash, scopes, created_at, last_used_at, revoked_at";

/// Writes a key.
pub(crate) fn write(connection: &Connection, key: &ApiKeyRecord) -> Result<(), Fault> {
    connection.prepare_cached(REPLACE)?.execute(params![
        integer(key.id)?,
        integer(key.user.0)?,
        key.name,
        key.prefix,
        key.hash,
        key.scopes.map(words::roles),
        key.created_at.0,
        key.last_used_at.map(|at| at.0),
        key.revoked_at.map(|at| at.0),
    ])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<ApiKeyRecord, Fault> {
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

const REPLACE: &str = "INSERT OR REPLACE INTO api_keys (id, user_id, name, prefix, hash, scopes, created_at, \
     last_used_at, revoked_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
