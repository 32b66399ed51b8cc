//! Table `pc_secrets`.

use crate::{fault::Fault, fields::Fields};
use muster_model::{Name, SecretRecord};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "pc_id, sha256, valid_until";

/// Replaces all secrets of a worker.
pub(crate) fn write(connection: &Connection, worker: &Name, secrets: &[SecretRecord]) -> Result<(), Fault> {
    connection.prepare_cached("DELETE FROM pc_secrets WHERE pc_id = ?1")?.execute([worker.as_str()])?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO pc_secrets (pc_id, place, sha256, valid_until) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (place, secret) in (0i64..).zip(secrets) {
        statement.execute(params![worker.as_str(), place, secret.hash, secret.valid_until.map(|at| at.0)])?;
    }
    Ok(())
}

/// Makes a record of a row, with the worker it belongs to.
pub(crate) fn read(row: &Row<'_>) -> Result<(Name, SecretRecord), Fault> {
    let fields = Fields::new("pc_secrets", row);
    let secret = SecretRecord { hash: fields.bytes(1)?, valid_until: fields.maybe_time(2)? };
    Ok((fields.name(0)?, secret))
}
