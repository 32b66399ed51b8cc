//! Jobs and their tasks: tables `tasks` (Q2), `task_devices`, the single truth about one unit of work on one device (Q1),
//! `pc_runs`, `pc_stops`, `idempotency_keys` (Q15) and `schedules` (Q17).

use super::sequence;
use crate::{
    record::{TableRecord as _, latest, put, put_each, put_values, table, write_all},
    shape::{Put, Update},
    sql::{Fault, Sink},
};
use muster_model::{
    JobId, JobPayload, JobRecord, JobText, KeyRecord, Name, ScheduleDraft, ScheduleId, ScheduleRecord,
    ShareCounts, ShareRecord, Submission, TaskId, TaskRecord,
};
use std::borrow::Cow;

table! {
    JobRecord in "tasks", key ["id"], put Named {
        id: Text("id"),
        seq: Number("seq"),
        queue: Text("queue"),
        status: Text("status"),
        scope: Text("scope"),
        max_attempts: Number("max_attempts"),
        tasks: Number("task_count"),
        open: Number("open"),
        created_at: Number("created_at"),
        started_at: Number("started_at"),
        completed_at: Number("completed_at"),
        error: Text("error"),
        outcome: Text("outcome"),
        workflow: Text("workflow_id") short "CAST(NULL AS TEXT)" = payload.as_ref().map(|payload| &payload.workflow),
        title: Text("title") short "CAST(NULL AS TEXT)" = payload.as_ref().map(|payload| &payload.title),
        params: Text("params") short "CAST(NULL AS TEXT)" = payload.as_ref().map(|payload| &payload.params),
        timeout: Number("timeout_ms") short "CAST(NULL AS BIGINT)" = payload.as_ref().map(|payload| payload.timeout),
        schedule: Text("schedule_id") short "CAST(NULL AS TEXT)" = payload.as_ref().map(|payload| payload.schedule),
    }
    row JobRecord {
        id, seq, queue, status, scope, max_attempts, tasks, open, created_at, started_at, completed_at, error, outcome,
        payload
    }
    derived {
        payload = match workflow {
            None => None,
            Some(workflow) => {
                let params: Option<_> = params;
                let missing = || Fault::corrupt(format!("tasks {id}: params = NULL"));
                Some(JobPayload { workflow, title, params: params.ok_or_else(missing)?, timeout, schedule })
            }
        },
    }
}

table! {
    TaskRecord in "task_devices", key ["id"], put Named {
        id: Text("id"),
        _: Text("task_id") = id.job,
        worker: Text("pc_id"),
        lane: Text("device_id"),
        status: Text("status"),
        attempt: Number("attempt"),
        max_attempts: Number("max_attempts"),
        error: Text("error"),
        result: Text("result") short "CAST(NULL AS TEXT)",
        fence: Text("lease_token"),
        lease: Text("lease_kind"),
        lease_until: Number("lease_expires_at"),
        created_at: Number("created_at"),
        started_at: Number("started_at"),
        confirmed_at: Number("confirmed_at"),
        timeout_at: Number("timeout_at"),
        completed_at: Number("completed_at"),
        timed_out: Number("timed_out"),
        logs: Number("log_count"),
    }
    unwritten Text("config")
    unwritten Text("logs")
}

table! {
    ShareRecord in "pc_runs", key ["pc_id", "task_id"], put Whole {
        worker: Text("pc_id"),
        job: Text("task_id"),
        first: Text("first_task_device_id"),
        finished: Number("finished"),
        completed: Number("completed"),
        failed: Number("failed"),
        failed_attempts: Number("failed_attempts"),
    }
    row ShareRecord { worker, job, first, finished, counts: ShareCounts { completed, failed, failed_attempts } }
}

/// A task that a worker must still be told to stop.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) worker: Name,
    pub(crate) task: TaskId,
}

table! {
    Stop in "pc_stops", key ["pc_id", "task_device_id"], put Whole {
        worker: Text("pc_id"),
        task: Text("task_device_id"),
    }
}

table! {
    KeyRecord in "idempotency_keys", key ["key"], put Whole {
        key: Text("key"),
        digest: Bytes("digest"),
        job: Text("task_id"),
        status: Text("status"),
        at: Number("at"),
    }
}

table! {
    ScheduleRecord in "schedules", key ["id"], put Whole {
        id: Text("id"),
        cron: Text("cron"),
        timezone: Text("timezone"),
        missed: Text("missed"),
        next_at: Number("next_at"),
        last_slot: Number("last_slot"),
        last_job: Text("last_run_id"),
        created_at: Number("created_at"),
        key: Text("key"),
        digest: Bytes("digest"),
        queue: Text("queue"),
        max_attempts: Number("max_attempts"),
        workflow: Text("workflow_id"),
        title: Text("title"),
        timeout: Number("timeout_ms"),
        scope: Text("scope"),
        params: Text("params"),
    }
    row ScheduleRecord {
        id, last_slot, last_job, created_at,
        draft: ScheduleDraft {
            cron, timezone, missed, next_at,
            run: Submission {
                key, digest, queue, scope, max_attempts,
                payload: JobPayload { title, workflow, params, timeout, schedule },
            },
        },
    }
    derived { schedule = None }
}

/// The new state of the share of a worker and a job; `None`: it is gone.
pub(crate) type ShareChange<'a> = ((&'a Name, JobId), Option<&'a ShareRecord>);

/// A stop, and whether its worker need no longer be told.
pub(crate) type StopChange<'a> = ((&'a Name, TaskId), bool);

/// Writes the last state of each job, with the last payload its batch has for it.
pub(crate) fn write_jobs(sink: &mut dyn Sink, mut records: Vec<&JobRecord>) -> Result<(), Fault> {
    /// Leaves the payload that is there.
    static PUT_ALL_BUT_PAYLOAD: Put =
        JobRecord::TABLE.put_first(JobRecord::TABLE.columns.len() - PAYLOAD_WIDTH, Update::Named);
    records.sort_by_key(|record| record.id);
    let (mut whole, mut bare) = (Vec::new(), Vec::new());
    for group in records.chunk_by(|one, other| one.id == other.id) {
        let payload = group.iter().rev().find_map(|record| record.payload.as_ref());
        match (group.last(), payload) {
            (Some(last), Some(_)) if last.payload.is_some() => whole.push(Cow::Borrowed(*last)),
            (Some(last), Some(payload)) => {
                whole.push(Cow::Owned(JobRecord { payload: Some(payload.clone()), ..(*last).clone() }));
            }
            (Some(last), None) => bare.push(*last),
            (None, _) => {}
        }
    }
    put(sink, &PUT_ALL_BUT_PAYLOAD, &bare)?;
    write_all(sink, &whole.iter().map(AsRef::as_ref).collect::<Vec<_>>())?;
    sequence::raise(sink, sequence::JOBS, records.iter().map(|record| record.seq).max())
}

/// Writes the last state of each share; deletes those that are gone.
pub(crate) fn write_shares(sink: &mut dyn Sink, changes: &[ShareChange<'_>]) -> Result<(), Fault> {
    static GONE: Put = ShareRecord::TABLE.put_first(2, Update::Gone);
    let last = latest(changes.iter().collect(), |(key, _)| *key);
    let written: Vec<_> = last.iter().filter_map(|(_, share)| *share).collect();
    write_all(sink, &written)?;
    let gone: Vec<_> = last.into_iter().filter(|(_, share)| share.is_none()).collect();
    put_each(sink, &GONE, &gone, |((worker, job), _), row| {
        row.values(&[worker.as_str().into(), JobText::new(*job).as_str().into()]);
        Ok(())
    })
}

/// Writes what workers must be told to stop, and deletes what they need no longer be.
pub(crate) fn write_stops(sink: &mut dyn Sink, changes: &[StopChange<'_>]) -> Result<(), Fault> {
    static GONE: Put = Stop::TABLE.put_first(2, Update::Gone);
    let last = latest(changes.iter().collect(), |(key, _)| *key);
    let stops = |is_gone| {
        let stops = last.iter().filter(move |(_, gone)| *gone == is_gone);
        stops.map(|((worker, task), _)| Stop { worker: (*worker).clone(), task: *task }).collect::<Vec<_>>()
    };
    write_all(sink, &stops(false).iter().collect::<Vec<_>>())?;
    put(sink, &GONE, &stops(true).iter().collect::<Vec<_>>())
}

/// Deletes a schedule.
pub(crate) fn delete_schedule(sink: &mut dyn Sink, id: ScheduleId) -> Result<(), Fault> {
    static GONE: Put = ScheduleRecord::TABLE.put_first(1, Update::Gone);
    put_values(sink, &GONE, &[id.to_string().as_str().into()])
}

/// Number of columns of the payload, the last ones.
const PAYLOAD_WIDTH: usize = 5;
