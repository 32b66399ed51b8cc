//! Table `idempotency_keys` (Q15).

use crate::{fault::Fault, fields::Fields, words};
use muster_model::{KeyRecord, SubmissionKey};
use rusqlite::{Connection, params};

/// Adds a key.
pub(crate) fn write(connection: &Connection, key: &KeyRecord) -> Result<(), Fault> {
    let sql = "INSERT OR REPLACE INTO idempotency_keys (key, digest, task_id, status, at) VALUES (?1, ?2, ?3, ?4, ?5)";
    let digest = key.digest.0.to_be_bytes();
    let (job, status) = (key.job.to_string(), key.status.as_str());
    connection.prepare_cached(sql)?.execute(params![key.key.as_str(), digest, job, status, key.at.0])?;
    Ok(())
}

/// What came of the submission with this key.
pub(crate) fn find(connection: &Connection, key: &SubmissionKey) -> Result<Option<KeyRecord>, Fault> {
    let sql = "SELECT key, digest, task_id, status, at FROM idempotency_keys WHERE key = ?1";
    super::one(connection, sql, [key.as_str()], |row| {
        let fields = Fields::new("idempotency_keys", row);
        Ok(KeyRecord {
            key: key.clone(),
            digest: fields.digest(1)?,
            job: fields.id(2)?,
            status: fields.word(3, words::parse_job_status)?,
            at: fields.time(4)?,
        })
    })
}
