//! Table `logins` (P1).

use super::integer;
use crate::{fault::Fault, fields::Fields};
use muster_model::{LoginRecord, UserId};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, user_id, generation, expires_at";

/// Writes a login.
pub(crate) fn write(connection: &Connection, login: &LoginRecord) -> Result<(), Fault> {
    let sql = "INSERT OR REPLACE INTO logins (id, user_id, generation, expires_at) VALUES (?1, ?2, ?3, ?4)";
    let id = login.id.to_be_bytes();
    connection.prepare_cached(sql)?.execute(params![
        id,
        integer(login.user.0)?,
        login.generation,
        login.expires_at.0
    ])?;
    Ok(())
}

/// Deletes a login.
pub(crate) fn delete(connection: &Connection, id: u128) -> Result<(), Fault> {
    connection.prepare_cached("DELETE FROM logins WHERE id = ?1")?.execute([id.to_be_bytes()])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<LoginRecord, Fault> {
    let fields = Fields::new("logins", row);
    Ok(LoginRecord {
        id: u128::from_be_bytes(fields.bytes(0)?),
        user: UserId(fields.number(1)?),
        generation: fields.number(2)?,
        expires_at: fields.time(3)?,
    })
}
