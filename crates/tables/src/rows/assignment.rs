//! Table `pool_assignments` (P8, P17).

use super::{integer, list, put, split};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Row, Sink, Sql},
    value::Value,
};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Fence, PoolJobId, PoolResult, PoolWorkerId, UserId,
};
use std::sync::Arc;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "a.id, a.worker_id, a.owner_user_id, a.nonce, a.state, a.granted_at, a.timeout_at, \
     a.finished_at, a.body_sha256, a.output_hash, a.vote, a.hash_matches, a.signature, a.public_key, a.error_message, \
     a.artifact_uri, a.metrics_json, a.output";

/// What [`read`] expects of an assignment whose result is left out.
pub(crate) const COLUMNS_WITHOUT_RESULT: &str = "a.id, a.worker_id, a.owner_user_id, a.nonce, a.state, a.granted_at, \
     a.timeout_at, a.finished_at, a.body_sha256, a.output_hash, a.vote, CAST(NULL AS BIGINT) AS hash_matches, \
     CAST(NULL AS TEXT) AS signature";

/// A condition of SQL: assignment `a` is of job `j`.
pub(crate) const IS_OF_JOB: &str = "a.id > j.id * 64 AND a.id <= j.id * 64 + 63";

/// Writes the last state of each assignment.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&AssignmentRecord>) -> Result<(), Fault> {
    let (whole, keeping) = split(records, |record| record.id, keeps_result);
    put(sink, &PUT, &whole, |record, row| {
        fill(record, row)?;
        fill_result(record, row);
        Ok(())
    })?;
    put(sink, &PUT_ALL_BUT_RESULT, &keeping, fill)
}

/// The assignments of a job, oldest first.
pub(crate) fn all_of(connection: &dyn Sql, job: PoolJobId) -> Result<Vec<AssignmentRecord>, Fault> {
    let sql =
        format!("SELECT {COLUMNS} FROM pool_assignments a WHERE a.id > ?1 AND a.id <= ?2 ORDER BY a.id");
    let (none, last) = (AssignmentId::new(job, 0), AssignmentId::new(job, AssignmentId::PER_JOB_MAX));
    list(connection, &sql, &[integer(none.0)?.into(), integer(last.0)?.into()], read)
}

/// A column of SQL: whether job `j` has not ended and somebody has it.
pub(crate) fn is_running() -> String {
    let live = AssignmentState::ALL.iter().filter(|state| state.is_live());
    let live: Vec<String> = live.map(|state| format!("'{}'", state.as_str())).collect();
    format!(
        "CAST(CASE WHEN e.id IS NULL AND EXISTS (SELECT 1 FROM pool_assignments a WHERE {IS_OF_JOB} \
         AND a.state IN ({})) THEN 1 ELSE 0 END AS BIGINT)",
        live.join(", ")
    )
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<AssignmentRecord, Fault> {
    read_at(row, 0)
}

/// Makes a record of a row, from a column on.
pub(crate) fn read_at(row: &dyn Cells, first: usize) -> Result<AssignmentRecord, Fault> {
    let fields = Fields::from("pool_assignments", row, first);
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
        vote: fields.maybe_text(10)?,
        result: None,
    };
    if !fields.is_null(12)? {
        record.result = Some(Arc::new(read_result(&fields, &record)?));
    }
    Ok(record)
}

fn read_result(fields: &Fields<'_>, record: &AssignmentRecord) -> Result<PoolResult, Fault> {
    Ok(PoolResult {
        assignment: record.id,
        nonce: Some(record.fence),
        signature: fields.text(12)?.into(),
        public_key: fields.text(13)?.into(),
        output: fields.maybe_text(17)?,
        output_hash: record.output_hash.clone(),
        hash_matches: if fields.is_null(11)? { None } else { Some(fields.flag(11)?) },
        vote: record.vote.clone(),
        error: fields.maybe_text(14)?,
        artifact_uri: fields.maybe_text(15)?,
        metrics: fields.maybe_text(16)?,
        digest: record.digest.ok_or_else(|| fields.senseless(8))?,
    })
}

/// Whether the result that is there stays: memory does not hold it, and may write the row without it.
fn keeps_result(record: &AssignmentRecord) -> bool {
    matches!(record.state, AssignmentState::Completed | AssignmentState::Failed) && record.result.is_none()
}

fn fill(record: &AssignmentRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        integer(record.id.0)?.into(),
        integer(record.worker.0)?.into(),
        integer(record.owner.0)?.into(),
        (&record.fence.0.to_be_bytes()).into(),
        record.state.as_str().into(),
        record.granted_at.into(),
        record.timeout_at.into(),
        record.ended_at.into(),
        record.digest.as_ref().into(),
        record.output_hash.as_deref().into(),
        record.vote.as_deref().into(),
    ]);
    Ok(())
}

fn fill_result(record: &AssignmentRecord, row: &mut dyn Row) {
    let Some(result) = record.result.as_deref() else {
        return row.values(&[Value::Null; RESULT_WIDTH]);
    };
    row.values(&[
        result.hash_matches.into(),
        (&*result.signature).into(),
        (&*result.public_key).into(),
        result.error.as_deref().into(),
        result.artifact_uri.as_deref().into(),
        result.metrics.as_deref().into(),
        result.output.as_deref().into(),
    ]);
}

/// The table. A row with a signature has a result.
pub(crate) const TABLE: TableShape = TableShape {
    name: "pool_assignments",
    columns: &[
        number("id"),
        number("worker_id"),
        number("owner_user_id"),
        bytes("nonce"),
        text("state"),
        number("granted_at"),
        number("timeout_at"),
        number("finished_at"),
        bytes("body_sha256"),
        text("output_hash"),
        text("vote"),
        number("hash_matches"),
        text("signature"),
        text("public_key"),
        text("error_message"),
        text("artifact_uri"),
        text("metrics_json"),
        text("output"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);

static PUT_ALL_BUT_RESULT: Put = TABLE.put_first(TABLE.columns.len() - RESULT_WIDTH, Update::Named);

/// How many columns the result has, the last ones.
const RESULT_WIDTH: usize = 7;
