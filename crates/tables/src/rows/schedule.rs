//! Table `schedules` (Q17).

use super::{put_one, scope};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::JobText,
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Sink},
};
use muster_model::{
    JobPayload, Millis, Missed, ScheduleDraft, ScheduleId, ScheduleRecord, Submission, SubmissionKey,
};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, cron, timezone, missed, next_at, last_slot, last_run_id, created_at, key, digest, \
     queue, max_attempts, workflow_id, title, timeout_ms, scope, params";

/// Writes a schedule.
pub(crate) fn write(sink: &mut dyn Sink, schedule: &ScheduleRecord) -> Result<(), Fault> {
    let ScheduleDraft { cron, timezone, missed, next_at, run } = &schedule.draft;
    let last_job = schedule.last_job.map(JobText::new);
    put_one(
        sink,
        &PUT,
        &[
            schedule.id.to_string().as_str().into(),
            (&**cron).into(),
            (&**timezone).into(),
            missed.as_str().into(),
            (*next_at).into(),
            schedule.last_slot.into(),
            last_job.as_ref().map(JobText::as_str).into(),
            schedule.created_at.into(),
            run.key.as_ref().map(SubmissionKey::as_str).into(),
            (&run.digest.0.to_be_bytes()).into(),
            run.queue.as_str().into(),
            run.max_attempts.into(),
            (&*run.payload.workflow).into(),
            run.payload.title.as_deref().into(),
            run.payload.timeout.map(|timeout| timeout.0).into(),
            scope::text(&run.scope).as_str().into(),
            (&*run.payload.params).into(),
        ],
    )
}

/// Deletes a schedule.
pub(crate) fn delete(sink: &mut dyn Sink, id: ScheduleId) -> Result<(), Fault> {
    put_one(sink, &GONE, &[id.to_string().as_str().into()])
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<ScheduleRecord, Fault> {
    let fields = Fields::new("schedules", row);
    Ok(ScheduleRecord {
        id: fields.id(0)?,
        draft: ScheduleDraft {
            cron: fields.text(1)?.into(),
            timezone: fields.text(2)?.into(),
            missed: fields.word(3, Missed::from_word)?,
            next_at: fields.maybe_time(4)?,
            run: read_run(&fields)?,
        },
        last_slot: fields.maybe_time(5)?,
        last_job: fields.maybe_word(6, |text| text.parse().ok())?,
        created_at: fields.time(7)?,
    })
}

fn read_run(fields: &Fields<'_>) -> Result<Submission, Fault> {
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

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "schedules",
    columns: &[
        text("id"),
        text("cron"),
        text("timezone"),
        text("missed"),
        number("next_at"),
        number("last_slot"),
        text("last_run_id"),
        number("created_at"),
        text("key"),
        bytes("digest"),
        text("queue"),
        number("max_attempts"),
        text("workflow_id"),
        text("title"),
        number("timeout_ms"),
        text("scope"),
        text("params"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);

static GONE: Put = TABLE.put_first(1, Update::Gone);
