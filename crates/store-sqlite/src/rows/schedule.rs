//! Table `schedules` (Q17).

use super::scope;
use crate::{fault::Fault, fields::Fields};
use muster_model::{
    JobPayload, Millis, Missed, ScheduleDraft, ScheduleId, ScheduleRecord, Submission, SubmissionKey,
};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, cron, timezone, missed, next_at, last_slot, last_run_id, created_at, key, digest, \
     queue, max_attempts, workflow_id, title, timeout_ms, scope, params";

/// Writes a schedule.
pub(crate) fn write(connection: &Connection, schedule: &ScheduleRecord) -> Result<(), Fault> {
    let ScheduleDraft { cron, timezone, missed, next_at, run } = &schedule.draft;
    connection.prepare_cached(REPLACE)?.execute(params![
        schedule.id.to_string(),
        cron,
        timezone,
        missed.as_str(),
        next_at.map(|at| at.0),
        schedule.last_slot.map(|at| at.0),
        schedule.last_job.map(|job| job.to_string()),
        schedule.created_at.0,
        run.key.as_ref().map(SubmissionKey::as_str),
        run.digest.0.to_be_bytes(),
        run.queue.as_str(),
        run.max_attempts,
        run.payload.workflow,
        run.payload.title.as_deref(),
        run.payload.timeout.map(|timeout| timeout.0),
        scope::text(&run.scope),
        run.payload.params,
    ])?;
    Ok(())
}

/// Deletes a schedule.
pub(crate) fn delete(connection: &Connection, id: ScheduleId) -> Result<(), Fault> {
    connection.prepare_cached("DELETE FROM schedules WHERE id = ?1")?.execute([id.to_string()])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<ScheduleRecord, Fault> {
    let fields = Fields::new("schedules", row);
    Ok(ScheduleRecord {
        id: fields.id(0)?,
        draft: ScheduleDraft {
            cron: fields.text(1)?.into(),
            timezone: fields.text(2)?.into(),
            missed: fields.word(3, Missed::parse)?,
            next_at: fields.maybe_time(4)?,
            run: read_run(&fields)?,
        },
        last_slot: fields.maybe_time(5)?,
        last_job: fields.maybe_word(6, |text| text.parse().ok())?,
        created_at: fields.time(7)?,
    })
}

fn read_run(fields: &Fields<'_, '_>) -> Result<Submission, Fault> {
    Ok(Submission {
        key: fields.maybe_word(8, |text| SubmissionKey::new(text).ok())?,
        digest: fields.digest(9)?,
        queue: fields.name(10)?,
        scope: fields.word(15, scope::parse)?,
        max_attempts: fields.maybe_number(11)?,
        payload: JobPayload {
            title: fields.maybe_text(13)?,
            workflow: fields.text(12)?.into(),
            params: fields.text(16)?.into(),
            timeout: fields.maybe_number(14)?.map(Millis),
            schedule: None,
        },
    })
}

const REPLACE: &str = "INSERT OR REPLACE INTO schedules (id, cron, timezone, missed, next_at, last_slot, last_run_id, \
     created_at, key, digest, queue, max_attempts, workflow_id, title, timeout_ms, scope, params) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
