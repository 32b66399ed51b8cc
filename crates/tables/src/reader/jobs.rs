//! Jobs, their tasks and logs; counts of tasks per job and of devices per worker (Q13).

use super::{nothing, number_start};
use crate::{
    id_text::TaskRange,
    reader::fleet::name_start,
    record::{Record as _, record, records, row, rows},
    sql::{Cells, Fault, Fields, Sql, Value},
};
use muster_model::{
    JobId, JobRecord, JobText, LogRecord, Name, Scope, TaskId, TaskRecord, TaskStatus, TaskText, Timestamp,
    WorkerRecord,
};
use muster_store::{
    ARTIFACT_MARK, CountedJob, Cursor, JobCounts, JobFilter, Page, TARGET_WORKERS_MAX, TaskFilter,
    WorkerSummary,
    position::{List, Start, sought},
};

/// Jobs, newest first.
pub(crate) fn jobs(
    connection: &dyn Sql,
    filter: &JobFilter,
    page: &Cursor,
) -> Result<Page<JobRecord>, Fault> {
    let Some(before) = number_start(List::Jobs, page, i64::MAX) else {
        return Ok(nothing());
    };
    let status = filter.status.map(|status| status.as_str());
    let queue = filter.queue.as_ref().map(Name::as_str);
    // Rows that have not ended are open: the small index finds them among any amount of history.
    let open = if filter.status.is_some_and(|status| !status.is_ended()) { "open = 1 AND" } else { "" };
    let rest = format!(
        "WHERE {open} seq < ?1 AND (CAST(?2 AS TEXT) IS NULL OR status = ?2) AND (CAST(?3 AS TEXT) IS NULL OR queue = ?3) \
         ORDER BY seq DESC LIMIT ?4"
    );
    let params = [before.into(), status.into(), queue.into(), sought(page).into()];
    let items = records(connection, &rest, &params)?;
    Ok(List::Jobs.page(page, items, |job: &JobRecord| job.seq.to_string()))
}

/// One job.
pub(crate) fn job(connection: &dyn Sql, id: JobId) -> Result<Option<JobRecord>, Fault> {
    record(connection, "WHERE id = ?1", &[JobText::new(id).as_str().into()])
}

/// The tasks of a job, oldest first.
pub(crate) fn tasks(
    connection: &dyn Sql,
    job: JobId,
    filter: &TaskFilter,
    page: &Cursor,
) -> Result<Page<TaskRecord>, Fault> {
    let range = TaskRange::of(job);
    let after = match List::Tasks.start(page, parse_ordinal) {
        Start::Beginning => range.from,
        Start::After(ordinal) => TaskText::new(TaskId { job, ordinal }).as_str().to_owned(),
        Start::Nowhere => return Ok(nothing()),
    };
    let status = filter.status.map(|status| status.as_str());
    let worker = filter.worker.as_ref().map(Name::as_str);
    let lane = filter.lane.as_ref().map(Name::as_str);
    let mark = format!("AND result LIKE '%{ARTIFACT_MARK}%'");
    let artifact = if filter.has_artifact { &*mark } else { "" };
    let rest = format!(
        "WHERE id > ?1 AND id < ?2 AND (CAST(?3 AS TEXT) IS NULL OR status = ?3) \
         AND (CAST(?4 AS TEXT) IS NULL OR pc_id = ?4) AND (CAST(?5 AS TEXT) IS NULL OR device_id = ?5) {artifact} ORDER BY id LIMIT ?6"
    );
    let (after, to) = (after.as_str(), range.to.as_str());
    let values = [after.into(), to.into(), status.into(), worker.into(), lane.into(), sought(page).into()];
    let items = records(connection, &rest, &values)?;
    Ok(List::Tasks.page(page, items, |task: &TaskRecord| task.id.ordinal.to_string()))
}

/// One task.
pub(crate) fn task(connection: &dyn Sql, id: TaskId) -> Result<Option<TaskRecord>, Fault> {
    record(connection, "WHERE id = ?1", &[TaskText::new(id).as_str().into()])
}

/// The stations of tasks from one to another, task by task, oldest first.
pub(crate) fn task_logs(connection: &dyn Sql, from: TaskId, to: TaskId) -> Result<Vec<LogRecord>, Fault> {
    let rest = "WHERE task_device_id >= ?1 AND task_device_id <= ?2 ORDER BY task_device_id, seq";
    let (from, to) = (TaskText::new(from), TaskText::new(to));
    records(connection, rest, &[from.as_str().into(), to.as_str().into()])
}

fn parse_ordinal(text: &str) -> Option<u32> {
    text.parse().ok().filter(|ordinal| *ordinal <= TaskId::ORDINAL_MAX)
}

/// Counts of a job's tasks by status and worker, and of those that ended since a moment.
pub(crate) fn job_counts(connection: &dyn Sql, id: JobId, since: Timestamp) -> Result<JobCounts, Fault> {
    let range = TaskRange::of(id);
    let sql = "SELECT pc_id, status, count(*), count(*) FILTER (WHERE completed_at >= ?3) \
               FROM task_devices WHERE id >= ?1 AND id < ?2 GROUP BY pc_id, status";
    let mut counts = JobCounts::default();
    connection.each(
        sql,
        &[range.from.as_str().into(), range.to.as_str().into(), since.into()],
        &mut |row| {
            let fields = Fields::new("task_devices", row);
            counts.per_worker.push((fields.text(0)?, fields.text(1)?, fields.number(2)?));
            counts.ended_since += fields.number::<u64>(3)?;
            Ok(())
        },
    )?;
    counts.per_worker.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
    Ok(counts)
}

/// Jobs, newest first, each with its tasks by status. Closed ones that are `known` are not counted.
pub(crate) fn counted_jobs(
    connection: &dyn Sql,
    filter: &JobFilter,
    page: &Cursor,
    known: &dyn Fn(JobId) -> bool,
) -> Result<Page<CountedJob>, Fault> {
    let Page { items, next } = jobs(connection, filter, page)?;
    // Several runs over everything are one count.
    let mut everything = None;
    let mut counted = Vec::with_capacity(items.len());
    for job in items {
        let is_known = !job.open && known(job.id);
        let tasks = if is_known { None } else { Some(by_status(connection, job.id)?) };
        let targets = match &job.scope {
            _ if job.status.is_ended() => None,
            Scope::All if everything.is_some() => everything,
            scope => targets(connection, scope)?,
        };
        everything = everything.or(targets.filter(|_| job.scope == Scope::All));
        counted.push(CountedJob { job, tasks, targets });
    }
    Ok(Page { items: counted, next })
}

fn by_status(connection: &dyn Sql, id: JobId) -> Result<Vec<(TaskStatus, u64)>, Fault> {
    let range = TaskRange::of(id);
    let sql = "SELECT status, count(*) FROM task_devices WHERE id >= ?1 AND id < ?2 GROUP BY status";
    let mut counts = Vec::new();
    connection.each(sql, &[range.from.as_str().into(), range.to.as_str().into()], &mut |row| {
        let fields = Fields::new("task_devices", row);
        counts.push((fields.text(0)?, fields.number(1)?));
        Ok(())
    })?;
    counts.sort_unstable();
    Ok(counts)
}

/// Number of devices that a scope is for, as far as that is cheap to tell.
pub(crate) fn targets(connection: &dyn Sql, scope: &Scope) -> Result<Option<u64>, Fault> {
    match scope {
        Scope::All => count(connection, "SELECT count(*) FROM devices", &[]).map(Some),
        Scope::Workers(workers) if workers.len() <= TARGET_WORKERS_MAX => {
            let mut devices = 0;
            for worker in workers {
                let sql = "SELECT count(*) FROM devices WHERE pc_id = ?1";
                devices += count(connection, sql, &[worker.as_str().into()])?;
            }
            Ok(Some(devices))
        }
        Scope::Devices(devices) => Ok(Some(devices.len() as u64)),
        Scope::Workers(_) | Scope::Labels(_) => Ok(None),
    }
}

fn count(connection: &dyn Sql, sql: &str, values: &[Value<'_>]) -> Result<u64, Fault> {
    let found = row(connection, sql, values, |row| Fields::new("devices", row).number(0))?;
    Ok(found.unwrap_or_default())
}

/// Workers with their counts, by name.
pub(crate) fn workers(connection: &dyn Sql, page: &Cursor) -> Result<Page<WorkerSummary>, Fault> {
    let Some(after) = name_start(List::Workers, page) else {
        return Ok(nothing());
    };
    let sql = format!("{} WHERE p.id > ?1 ORDER BY p.id LIMIT ?2", select_summaries());
    let items = rows(connection, &sql, &[after.as_str().into(), sought(page).into()], read_summary)?;
    Ok(List::Workers.page(page, items, |summary| summary.worker.id.to_string()))
}

/// The records of all workers, by name.
pub(crate) fn worker_records(connection: &dyn Sql) -> Result<Vec<WorkerRecord>, Fault> {
    records(connection, "ORDER BY id", &[])
}

/// One worker with its counts.
pub(crate) fn worker(connection: &dyn Sql, id: &Name) -> Result<Option<WorkerSummary>, Fault> {
    row(connection, &format!("{} WHERE p.id = ?1", select_summaries()), &[id.as_str().into()], read_summary)
}

/// The view is joined, not repeated: people and programs see the same counts.
fn select_summaries() -> String {
    let columns: Vec<String> =
        WorkerRecord::COLUMNS.split(", ").map(|column| format!("p.{column}")).collect();
    format!(
        "SELECT {}, s.device_count, s.running_count, s.idle_count, s.error_count, s.disconnected_count \
         FROM pcs p JOIN pc_device_summary s ON s.pc_id = p.id",
        columns.join(", ")
    )
}

fn read_summary(row: &dyn Cells) -> Result<WorkerSummary, Fault> {
    let fields = Fields::new("pc_device_summary", row);
    Ok(WorkerSummary {
        worker: WorkerRecord::read(row)?,
        device_count: fields.number(WorkerRecord::WIDTH)?,
        running_count: fields.number(WorkerRecord::WIDTH + 1)?,
        idle_count: fields.number(WorkerRecord::WIDTH + 2)?,
        error_count: fields.number(WorkerRecord::WIDTH + 3)?,
        disconnected_count: fields.number(WorkerRecord::WIDTH + 4)?,
    })
}
