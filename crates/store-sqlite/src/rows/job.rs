//! Table `tasks`: what clients submitted (Q2).

use super::{integer, scope, sequence};
use crate::{fault::Fault, fields::Fields, words};
use muster_model::{JobId, JobPayload, JobRecord, Millis, Timestamp};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, seq, queue, status, scope, max_attempts, task_count, open, created_at, started_at, \
     completed_at, error, workflow_id, title, params, timeout_ms, schedule_id";

/// What [`read`] expects, but for the payload.
pub(crate) const COLUMNS_WITHOUT_PAYLOAD: &str = "id, seq, queue, status, scope, max_attempts, task_count, open, \
     created_at, started_at, completed_at, error, NULL AS workflow_id, NULL AS title, NULL AS params, \
     NULL AS timeout_ms, NULL AS schedule_id";

/// Writes the last state of each job, with the last payload its batch has for it.
pub(crate) fn write(connection: &Connection, mut records: Vec<&JobRecord>) -> Result<(), Fault> {
    records.sort_by_key(|record| record.id);
    for group in records.chunk_by(|one, other| one.id == other.id) {
        if let Some(last) = group.last() {
            let payload = group.iter().rev().find_map(|record| record.payload.as_ref());
            write_one(connection, last, payload)?;
        }
    }
    sequence::raise(connection, sequence::JOBS, records.iter().map(|record| record.seq).max())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<JobRecord, Fault> {
    let fields = Fields::new("tasks", row);
    Ok(JobRecord {
        id: fields.id(0)?,
        seq: fields.number(1)?,
        queue: fields.name(2)?,
        status: fields.word(3, words::parse_job_status)?,
        scope: fields.word(4, scope::parse)?,
        max_attempts: fields.number(5)?,
        tasks: fields.number(6)?,
        open: fields.flag(7)?,
        created_at: fields.time(8)?,
        started_at: fields.maybe_time(9)?,
        completed_at: fields.maybe_time(10)?,
        error: fields.maybe_text(11)?,
        payload: if fields.is_null(12)? { None } else { Some(read_payload(&fields)?) },
    })
}

fn read_payload(fields: &Fields<'_, '_>) -> Result<JobPayload, Fault> {
    Ok(JobPayload {
        workflow: fields.text(12)?.into(),
        title: fields.maybe_text(13)?,
        params: fields.text(14)?.into(),
        timeout: fields.maybe_number(15)?.map(Millis),
        schedule: fields.maybe_word(16, |text| text.parse().ok())?,
    })
}

fn write_one(connection: &Connection, job: &JobRecord, payload: Option<&JobPayload>) -> Result<(), Fault> {
    let id = job.id.to_string();
    connection.prepare_cached(UPSERT)?.execute(params![
        id,
        integer(job.seq)?,
        job.queue.as_str(),
        job.status.as_str(),
        scope::text(&job.scope),
        job.max_attempts,
        job.tasks,
        job.open,
        job.created_at.0,
        moment(job.started_at),
        moment(job.completed_at),
        job.error.as_deref(),
    ])?;
    payload.map_or(Ok(()), |payload| write_payload(connection, job.id, payload))
}

/// Leaves everything else of the row as it is, as the row's own writing leaves this.
fn write_payload(connection: &Connection, job: JobId, payload: &JobPayload) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "UPDATE tasks SET workflow_id = ?2, title = ?3, params = ?4, timeout_ms = ?5, schedule_id = ?6 \
             WHERE id = ?1",
        )?
        .execute(params![
            job.to_string(),
            payload.workflow,
            payload.title.as_deref(),
            payload.params,
            payload.timeout.map(|timeout| timeout.0),
            payload.schedule.map(|schedule| schedule.to_string()),
        ])?;
    Ok(())
}

fn moment(at: Option<Timestamp>) -> Option<i64> {
    at.map(|at| at.0)
}

const UPSERT: &str = "INSERT INTO tasks (id, seq, queue, status, scope, max_attempts, task_count, open, created_at, \
     started_at, completed_at, error) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
     ON CONFLICT (id) DO UPDATE SET seq = ?2, queue = ?3, status = ?4, scope = ?5, max_attempts = ?6, task_count = ?7, \
     open = ?8, created_at = ?9, started_at = ?10, completed_at = ?11, error = ?12";
