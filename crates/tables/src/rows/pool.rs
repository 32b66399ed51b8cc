//! The pool: tables `workers` (P3, P12), `pool_jobs`, `pool_ends` and `pool_keys` (P13), and `pool_assignments` (P8, P17).

use crate::{
    column::integer,
    record::{TableRecord as _, latest, put, put_each, split, table, write_all},
    shape::{Put, Update},
    sql::{Fault, Sink},
};
use muster_model::{
    AssignmentRecord, AssignmentState, Demand, PoolEndRecord, PoolJobDraft, PoolJobRecord, PoolJobStatus,
    PoolKeyRecord, PoolResult, PoolWorkerId, PoolWorkerRecord, Timestamp,
};
use std::sync::Arc;

table! {
    // To overwrite the whole row would delete another worker of the same name. What was seen stays seen.
    PoolWorkerRecord in "workers", key ["id"],
    put Except(&[
        (
            "last_seen_at",
            Some(
                "CASE WHEN workers.last_seen_at > excluded.last_seen_at OR excluded.last_seen_at IS NULL \
                 THEN workers.last_seen_at ELSE excluded.last_seen_at END",
            ),
        ),
        ("specs_json", Some("coalesce(excluded.specs_json, workers.specs_json)")),
    ]) {
        id: Number("id"),
        last_seen: Number("last_seen_at"),
        name: Text("name"),
        owner: Number("owner_user_id"),
        status: Text("status"),
        region: Text("region"),
        specs: Text("specs"),
        public_key: Text("public_key"),
        slots: Number("slots"),
        draining: Number("draining"),
        ban_reason: Text("ban_reason"),
        agreements: Number("agreements"),
        dissents: Number("dissents"),
        created_at: Number("created_at"),
        specs_json: Text("specs_json") short "CAST(NULL AS TEXT)",
    }
}

table! {
    PoolJobRecord in "pool_jobs" as j, key ["id"], put Whole {
        id: Number("id"),
        client: Number("client_user_id"),
        priority: Number("priority"),
        max_attempts: Number("max_attempts"),
        asked_attempts: Number("asked_attempts"),
        timeout: Number("timeout_ms"),
        verify_output_hash: Number("verify_output_hash"),
        redundancy: Number("redundancy"),
        created_at: Number("created_at"),
        region: Text("region"),
        requires: Text("demands"),
        requires_json: Text("requires"),
        payload: Text("payload") short "CAST('' AS TEXT)",
    }
    row PoolJobRecord {
        id, client, max_attempts, created_at,
        draft: PoolJobDraft {
            payload, priority, requires_json, timeout, verify_output_hash, redundancy,
            max_attempts: asked_attempts,
            demand: Demand { region, requires },
        },
    }
}

table! {
    // A row with a signature has a result.
    AssignmentRecord in "pool_assignments" as a, key ["id"], put Whole {
        id: Number("id"),
        worker: Number("worker_id"),
        owner: Number("owner_user_id"),
        fence: Bytes("nonce"),
        state: Text("state"),
        granted_at: Number("granted_at"),
        timeout_at: Number("timeout_at"),
        ended_at: Number("finished_at"),
        digest: Bytes("body_sha256"),
        output_hash: Text("output_hash"),
        vote: Text("vote"),
        hash_matches: Number("hash_matches") short "CAST(NULL AS BIGINT)" = result.as_ref().map(|it| it.hash_matches),
        signature: Text("signature") short "CAST(NULL AS TEXT)" = result.as_ref().map(|it| &it.signature),
        public_key: Text("public_key") short "CAST(NULL AS TEXT)" = result.as_ref().map(|it| &it.public_key),
        error: Text("error_message") short "CAST(NULL AS TEXT)" = result.as_ref().map(|it| &it.error),
        artifact_uri: Text("artifact_uri") short "CAST(NULL AS TEXT)" = result.as_ref().map(|it| &it.artifact_uri),
        metrics: Text("metrics_json") short "CAST(NULL AS TEXT)" = result.as_ref().map(|it| &it.metrics),
        output: Text("output") short "CAST(NULL AS TEXT)" = result.as_ref().map(|it| &it.output),
        batch: Bytes("batch") short "CAST(NULL AS BYTEA)" = result.as_ref().map(|it| &it.batch),
    }
    row AssignmentRecord {
        id, worker, owner, fence, state, granted_at, timeout_at, ended_at, digest, output_hash, vote, result
    }
    derived {
        digest = { let digest: Option<[u8; 32]> = digest; digest },
        output_hash = { let hash: Option<Box<str>> = output_hash; hash },
        vote = { let vote: Option<Box<str>> = vote; vote },
        public_key = { let key: Option<Box<str>> = public_key; key },
        result = match signature {
            None => None,
            Some(signature) => {
                let missing = |column: &str| Fault::corrupt(format!("pool_assignments {id}: {column} = NULL"));
                Some(Arc::new(PoolResult {
                    assignment: id,
                    nonce: Some(fence),
                    signature,
                    public_key: public_key.ok_or_else(|| missing("public_key"))?,
                    output,
                    output_hash: output_hash.clone(),
                    hash_matches,
                    vote: vote.clone(),
                    error,
                    artifact_uri,
                    metrics,
                    digest: digest.ok_or_else(|| missing("body_sha256"))?,
                    batch,
                }))
            }
        },
    }
}

table! {
    PoolEndRecord in "pool_ends" as e, key ["id"], put Whole {
        job: Number("id"),
        client: Number("client_user_id"),
        word: Text("status") = status,
        assignment: Number("assignment_id"),
        error: Text("error"),
        at: Number("finished_at"),
    }
    row PoolEndRecord { job, client, status, assignment, error, at }
    derived {
        status = ended(word)
            .ok_or_else(|| Fault::corrupt(format!("pool_ends {job}: status = {}", word.as_str())))?,
    }
}

table! {
    PoolKeyRecord in "pool_keys", key ["client_user_id", "key"], put Whole {
        client: Number("client_user_id"),
        key: Text("key"),
        digest: Bytes("digest"),
        first: Number("first_job"),
        count: Number("count"),
        at: Number("at"),
    }
}

/// A condition of SQL: assignment `a` is of job `j`.
pub(crate) const IS_OF_JOB: &str = "a.id > j.id * 64 AND a.id <= j.id * 64 + 63";

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

/// The status, if it is that of an end.
pub(crate) fn ended(status: PoolJobStatus) -> Option<PoolJobStatus> {
    status.is_ended().then_some(status)
}

/// Writes the last state of each worker; leaves its specs as JSON where the record has none.
pub(crate) fn write_workers(sink: &mut dyn Sink, records: Vec<&PoolWorkerRecord>) -> Result<(), Fault> {
    let (whole, keeping) = split(records, |record| record.id, |record| record.specs_json.is_none());
    write_all(sink, &whole)?;
    write_all(sink, &keeping)
}

/// Writes signs of life down, where they are news; whether a worker is shut out is another matter (P5).
pub(crate) fn write_sightings(
    sink: &mut dyn Sink,
    sightings: &[(PoolWorkerId, Timestamp)],
) -> Result<(), Fault> {
    static SEEN: Put = PoolWorkerRecord::TABLE.put_first(2, Update::Raise);
    let mut last: Vec<_> = sightings.iter().collect();
    last.sort_by_key(|(_, at)| *at);
    put_each(sink, &SEEN, &latest(last, |(worker, _)| *worker), |(worker, at), row| {
        row.values(&[integer(worker.0)?.into(), (*at).into()]);
        Ok(())
    })
}

/// Writes the last state of each assignment.
pub(crate) fn write_assignments(sink: &mut dyn Sink, records: Vec<&AssignmentRecord>) -> Result<(), Fault> {
    static PUT_ALL_BUT_RESULT: Put = AssignmentRecord::TABLE
        .put_first(AssignmentRecord::TABLE.columns.len() - RESULT_WIDTH, Update::Named);
    let (whole, keeping) = split(records, |record| record.id, keeps_result);
    write_all(sink, &whole)?;
    put(sink, &PUT_ALL_BUT_RESULT, &keeping)
}

/// True if the result that is there stays: memory does not hold it, and may write the row without it.
fn keeps_result(record: &AssignmentRecord) -> bool {
    matches!(record.state, AssignmentState::Completed | AssignmentState::Failed) && record.result.is_none()
}

/// Number of columns of the result; they are the last ones.
const RESULT_WIDTH: usize = 8;
