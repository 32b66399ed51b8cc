//! Table `pool_keys` (P13).

use super::{integer, one, sought_number};
use crate::{fault::Fault, fields::Fields};
use muster_model::{PoolJobId, PoolKeyRecord, SubmissionKey, UserId};
use rusqlite::{Connection, params};

/// Adds a key.
pub(crate) fn write(connection: &Connection, key: &PoolKeyRecord) -> Result<(), Fault> {
    let sql = "INSERT OR REPLACE INTO pool_keys (client_user_id, key, digest, first_job, count, at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.prepare_cached(sql)?.execute(params![
        integer(key.client.0)?,
        key.key.as_str(),
        key.digest.0.to_be_bytes(),
        integer(key.first.0)?,
        key.count,
        key.at.0,
    ])?;
    Ok(())
}

/// What came of a client's submission with this key.
pub(crate) fn find(
    connection: &Connection,
    client: UserId,
    key: &SubmissionKey,
) -> Result<Option<PoolKeyRecord>, Fault> {
    let sql =
        "SELECT key, digest, first_job, count, at FROM pool_keys WHERE client_user_id = ?1 AND key = ?2";
    one(connection, sql, params![sought_number(client.0), key.as_str()], |row| {
        let fields = Fields::new("pool_keys", row);
        Ok(PoolKeyRecord {
            client,
            key: key.clone(),
            digest: fields.digest(1)?,
            first: PoolJobId(fields.number(2)?),
            count: fields.number(3)?,
            at: fields.time(4)?,
        })
    })
}
