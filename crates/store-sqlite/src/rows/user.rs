//! Table `users` (P1).

use super::integer;
use crate::{fault::Fault, fields::Fields, words};
use muster_model::{UserId, UserRecord};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, name, password_hash, roles, active, created_at";

/// Writes a user.
pub(crate) fn write(connection: &Connection, user: &UserRecord) -> Result<(), Fault> {
    connection.prepare_cached(UPSERT)?.execute(params![
        integer(user.id.0)?,
        user.name,
        user.password_hash,
        words::roles(user.roles),
        user.active,
        user.created_at.0,
    ])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<UserRecord, Fault> {
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

/// REPLACE would delete another user of the same name.
const UPSERT: &str = "INSERT INTO users (id, name, password_hash, roles, active, created_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
     ON CONFLICT (id) DO UPDATE SET name = ?2, password_hash = ?3, roles = ?4, active = ?5, created_at = ?6";
