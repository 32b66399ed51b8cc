//! Table `audit_log`.

use super::integer;
use crate::{fault::Fault, fields::Fields};
use muster_model::{Actor, AuditRecord, UserId};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, at, user_id, user_name, action, subject";

/// Adds an act.
pub(crate) fn write(connection: &Connection, act: &AuditRecord) -> Result<(), Fault> {
    let sql = "INSERT INTO audit_log (at, user_id, user_name, action, subject) VALUES (?1, ?2, ?3, ?4, ?5)";
    let (user, name) = (integer(act.actor.user.0)?, &act.actor.name);
    connection.prepare_cached(sql)?.execute(params![act.at.0, user, name, act.action, act.subject])?;
    Ok(())
}

/// Makes a record of a row, with the number of the row.
pub(crate) fn read(row: &Row<'_>) -> Result<(u64, AuditRecord), Fault> {
    let fields = Fields::new("audit_log", row);
    let act = AuditRecord {
        actor: Actor { user: UserId(fields.number(2)?), name: fields.text(3)?.into() },
        action: fields.text(4)?.into(),
        subject: fields.text(5)?.into(),
        at: fields.time(1)?,
    };
    Ok((fields.number(0)?, act))
}
