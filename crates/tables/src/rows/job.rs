//! Table `tasks`: what clients submitted (Q2).

use super::{integer, put, scope, sequence};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::JobText,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{JobPayload, JobRecord, Millis};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, seq, queue, status, scope, max_attempts, task_count, open, created_at, started_at, \
     completed_at, error, outcome, workflow_id, title, params, timeout_ms, schedule_id";

/// What [`read`] expects, but for the payload.
pub(crate) const COLUMNS_WITHOUT_PAYLOAD: &str = "id, seq, queue, status, scope, max_attempts, task_count, open, \
     created_at, started_at, completed_at, error, outcome, CAST(NULL AS TEXT) AS workflow_id";

/// Writes the last state of each job, with the last payload its batch has for it.
pub(crate) fn write(sink: &mut dyn Sink, mut records: Vec<&JobRecord>) -> Result<(), Fault> {
    records.sort_by_key(|record| record.id);
    let (mut whole, mut bare) = (Vec::new(), Vec::new());
    for group in records.chunk_by(|one, other| one.id == other.id) {
        let payload = group.iter().rev().find_map(|record| record.payload.as_ref());
        match (group.last(), payload) {
            (Some(last), Some(payload)) => whole.push((*last, payload)),
            (Some(last), None) => bare.push(*last),
            (None, _) => {}
        }
    }
    put(sink, &PUT_ALL_BUT_PAYLOAD, &bare, fill)?;
    let whole: Vec<_> = whole.iter().collect();
    put(sink, &PUT, &whole, |(job, payload), row| {
        fill(job, row)?;
        fill_payload(payload, row);
        Ok(())
    })?;
    sequence::raise(sink, sequence::JOBS, records.iter().map(|record| record.seq).max())
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<JobRecord, Fault> {
    let fields = Fields::new("tasks", row);
    Ok(JobRecord {
        id: fields.id(0)?,
        seq: fields.number(1)?,
        queue: fields.name(2)?,
        status: fields.word(3, muster_model::JobStatus::from_word)?,
        scope: fields.word(4, scope::parse)?,
        max_attempts: fields.number(5)?,
        tasks: fields.number(6)?,
        open: fields.flag(7)?,
        created_at: fields.time(8)?,
        started_at: fields.maybe_time(9)?,
        completed_at: fields.maybe_time(10)?,
        error: fields.maybe_text(11)?,
        outcome: fields.word(12, muster_model::JobOutcome::from_word)?,
        payload: if fields.is_null(13)? { None } else { Some(read_payload(&fields)?) },
    })
}

fn read_payload(fields: &Fields<'_>) -> Result<JobPayload, Fault> {
    Ok(JobPayload {
        workflow: fields.text(13)?.into(),
        title: fields.maybe_text(14)?,
        params: fields.text(15)?.into(),
        timeout: fields.maybe_number(16)?.map(Millis),
        schedule: fields.maybe_word(17, |text| text.parse().ok())?,
    })
}

fn fill(job: &JobRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        JobText::new(job.id).as_str().into(),
        integer(job.seq)?.into(),
        job.queue.as_str().into(),
        job.status.as_str().into(),
        scope::text(&job.scope).as_str().into(),
        job.max_attempts.into(),
        job.tasks.into(),
        job.open.into(),
        job.created_at.into(),
        job.started_at.into(),
        job.completed_at.into(),
        job.error.as_deref().into(),
        job.outcome.as_str().into(),
    ]);
    Ok(())
}

fn fill_payload(payload: &JobPayload, row: &mut dyn Row) {
    let schedule = payload.schedule.map(|schedule| schedule.to_string());
    row.values(&[
        (&*payload.workflow).into(),
        payload.title.as_deref().into(),
        (&*payload.params).into(),
        payload.timeout.map(|timeout| timeout.0).into(),
        schedule.as_deref().into(),
    ]);
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "tasks",
    columns: &[
        text("id"),
        number("seq"),
        text("queue"),
        text("status"),
        text("scope"),
        number("max_attempts"),
        number("task_count"),
        number("open"),
        number("created_at"),
        number("started_at"),
        number("completed_at"),
        text("error"),
        text("outcome"),
        text("workflow_id"),
        text("title"),
        text("params"),
        number("timeout_ms"),
        text("schedule_id"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Named);

/// Leaves the payload that is there.
static PUT_ALL_BUT_PAYLOAD: Put = TABLE.put_first(TABLE.columns.len() - PAYLOAD_WIDTH, Update::Named);

/// How many columns the payload has, the last ones.
const PAYLOAD_WIDTH: usize = 5;
