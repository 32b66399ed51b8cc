//! Table `pool_assignments` (P8, P17).

use super::{each, integer, needed, one, sought_number};
use crate::{fault::Fault, fields::Fields};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Fence, PoolJobId, PoolResult, PoolWorkerId, UserId,
};
use rusqlite::{Connection, Row, Statement, params};
use std::sync::Arc;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, worker_id, owner_user_id, nonce, state, granted_at, timeout_at, finished_at, \
     body_sha256, output_hash, hash_matches, signature, public_key, error_message, artifact_uri, metrics_json, output";

/// What [`read`] expects of an assignment whose result is left out.
pub(crate) const COLUMNS_WITHOUT_RESULT: &str = "id, worker_id, owner_user_id, nonce, state, granted_at, timeout_at, \
     finished_at, body_sha256, output_hash, NULL AS hash_matches, NULL AS signature";

/// Writes the last state of each assignment.
pub(crate) fn write(connection: &Connection, records: Vec<&AssignmentRecord>) -> Result<(), Fault> {
    let mut whole = connection.prepare_cached(REPLACE)?;
    for record in needed(records, |record| record.id, |record| !keeps_result(record)) {
        if keeps_result(record) {
            write_keeping_result(connection, record)?;
        } else {
            bind(&mut whole, record)?;
            whole.raw_execute()?;
        }
    }
    Ok(())
}

/// The assignment with an id.
pub(crate) fn find(
    connection: &Connection,
    id: AssignmentId,
    columns: &str,
) -> Result<Option<AssignmentRecord>, Fault> {
    let sql = format!("SELECT {columns} FROM pool_assignments WHERE id = ?1");
    one(connection, &sql, [sought_number(id.0)], read)
}

/// Hands over the assignments of a job, oldest first.
pub(crate) fn each_of(
    connection: &Connection,
    job: PoolJobId,
    columns: &str,
    mut take: impl FnMut(AssignmentRecord),
) -> Result<(), Fault> {
    let sql = format!("SELECT {columns} FROM pool_assignments WHERE id > ?1 AND id <= ?2 ORDER BY id");
    each(connection, &sql, range(job)?, |row| {
        take(read(row)?);
        Ok(())
    })
}

/// Whether somebody has the job.
pub(crate) fn any_live(connection: &Connection, job: PoolJobId) -> Result<bool, Fault> {
    let sql = "SELECT id, state FROM pool_assignments WHERE id > ?1 AND id <= ?2";
    let mut live = false;
    each(connection, sql, range(job)?, |row| {
        let state = Fields::new("pool_assignments", row).word(1, AssignmentState::from_word)?;
        live |= state.is_live();
        Ok(())
    })?;
    Ok(live)
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<AssignmentRecord, Fault> {
    let fields = Fields::new("pool_assignments", row);
    let mut record = AssignmentRecord {
        id: AssignmentId(fields.number(0)?),
        worker: PoolWorkerId(fields.number(1)?),
        owner: UserId(fields.number(2)?),
        fence: Fence(u128::from_be_bytes(fields.bytes(3)?)),
        state: fields.word(4, AssignmentState::from_word)?,
        granted_at: fields.time(5)?,
        timeout_at: fields.maybe_time(6)?,
        ended_at: fields.maybe_time(7)?,
        digest: if fields.is_null(8)? { None } else { Some(fields.bytes(8)?) },
        output_hash: fields.maybe_text(9)?,
        result: None,
    };
    if !fields.is_null(11)? {
        record.result = Some(Arc::new(read_result(&fields, &record)?));
    }
    Ok(record)
}

fn read_result(fields: &Fields<'_, '_>, record: &AssignmentRecord) -> Result<PoolResult, Fault> {
    Ok(PoolResult {
        assignment: record.id,
        nonce: Some(record.fence),
        signature: fields.text(11)?.into(),
        public_key: fields.text(12)?.into(),
        output: fields.maybe_text(16)?,
        output_hash: record.output_hash.clone(),
        hash_matches: if fields.is_null(10)? { None } else { Some(fields.flag(10)?) },
        error: fields.maybe_text(13)?,
        artifact_uri: fields.maybe_text(14)?,
        metrics: fields.maybe_text(15)?,
        digest: record.digest.ok_or_else(|| fields.senseless(8))?,
    })
}

/// Whether the result that is there stays: memory does not hold it, and may write the row without it.
fn keeps_result(record: &AssignmentRecord) -> bool {
    matches!(record.state, AssignmentState::Completed | AssignmentState::Failed) && record.result.is_none()
}

fn write_keeping_result(connection: &Connection, record: &AssignmentRecord) -> Result<(), Fault> {
    connection.prepare_cached(UPSERT_ALL_BUT_RESULT)?.execute(params![
        integer(record.id.0)?,
        integer(record.worker.0)?,
        integer(record.owner.0)?,
        record.fence.0.to_be_bytes(),
        record.state.as_str(),
        record.granted_at.0,
        record.timeout_at.map(|at| at.0),
        record.ended_at.map(|at| at.0),
        record.digest,
        record.output_hash.as_deref(),
    ])?;
    Ok(())
}

fn bind(statement: &mut Statement<'_>, record: &AssignmentRecord) -> Result<(), Fault> {
    let result = record.result.as_deref();
    statement.raw_bind_parameter(1, integer(record.id.0)?)?;
    statement.raw_bind_parameter(2, integer(record.worker.0)?)?;
    statement.raw_bind_parameter(3, integer(record.owner.0)?)?;
    statement.raw_bind_parameter(4, record.fence.0.to_be_bytes())?;
    statement.raw_bind_parameter(5, record.state.as_str())?;
    statement.raw_bind_parameter(6, record.granted_at.0)?;
    statement.raw_bind_parameter(7, record.timeout_at.map(|at| at.0))?;
    statement.raw_bind_parameter(8, record.ended_at.map(|at| at.0))?;
    statement.raw_bind_parameter(9, record.digest)?;
    statement.raw_bind_parameter(10, record.output_hash.as_deref())?;
    statement.raw_bind_parameter(11, result.and_then(|result| result.hash_matches))?;
    statement.raw_bind_parameter(12, result.map(|result| &*result.signature))?;
    statement.raw_bind_parameter(13, result.map(|result| &*result.public_key))?;
    statement.raw_bind_parameter(14, result.and_then(|result| result.error.as_deref()))?;
    statement.raw_bind_parameter(15, result.and_then(|result| result.artifact_uri.as_deref()))?;
    statement.raw_bind_parameter(16, result.and_then(|result| result.metrics.as_deref()))?;
    statement.raw_bind_parameter(17, result.and_then(|result| result.output.as_deref()))?;
    Ok(())
}

/// The ids of a job's assignments: after the first, up to the second.
fn range(job: PoolJobId) -> Result<[i64; 2], Fault> {
    let last = AssignmentId::new(job, AssignmentId::PER_JOB_MAX);
    Ok([integer(AssignmentId::new(job, 0).0)?, integer(last.0)?])
}

/// REPLACE into a table with nothing but its primary key overwrites in place, without a search first.
const REPLACE: &str = "INSERT OR REPLACE INTO pool_assignments (id, worker_id, owner_user_id, nonce, state, granted_at, \
     timeout_at, finished_at, body_sha256, output_hash, hash_matches, signature, public_key, error_message, \
     artifact_uri, metrics_json, output) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";

const UPSERT_ALL_BUT_RESULT: &str = "INSERT INTO pool_assignments (id, worker_id, owner_user_id, nonce, state, granted_at, \
     timeout_at, finished_at, body_sha256, output_hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
     ON CONFLICT (id) DO UPDATE SET worker_id = ?2, owner_user_id = ?3, nonce = ?4, state = ?5, granted_at = ?6, \
     timeout_at = ?7, finished_at = ?8, body_sha256 = ?9, output_hash = ?10";
