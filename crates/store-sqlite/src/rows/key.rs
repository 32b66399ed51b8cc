//! Table `idempotency_keys` (Q15).

use crate::{fault::Fault, fields::Fields};
use muster_model::{Digest, JobId, KeyRecord, SubmissionKey, Timestamp};
use rusqlite::{Connection, params};

/// Adds a key.
pub(crate) fn write(connection: &Connection, key: &KeyRecord) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO idempotency_keys (key, digest, task_id, at) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![
            key.key.as_str(),
            key.digest.0.to_be_bytes(),
            key.job.to_string(),
            key.at.0
        ])?;
    Ok(())
}

/// What came of the submission with this key.
pub(crate) fn find(
    connection: &Connection,
    key: &SubmissionKey,
) -> Result<Option<(Digest, JobId, Timestamp)>, Fault> {
    let sql = "SELECT key, digest, task_id, at FROM idempotency_keys WHERE key = ?1";
    super::one(connection, sql, [key.as_str()], |row| {
        let fields = Fields::new("idempotency_keys", row);
        Ok((
            Digest(u128::from_be_bytes(fields.bytes(1)?)),
            fields.id(2)?,
            fields.time(3)?,
        ))
    })
}
