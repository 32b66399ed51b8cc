//! What is counted: the tasks of a job, the devices of a worker (Q13).

use super::{fleet::name_start, jobs, nothing};
use crate::{
    fault::Fault,
    fields::Fields,
    id_text::TaskRange,
    record::{Record as _, records, row, rows},
    sql::{Cells, Sql},
    value::Value,
};
use muster_model::{JobId, Name, Scope, TaskStatus, Timestamp, WorkerRecord};
use muster_store::{
    CountedJob, Cursor, JobCounts, JobFilter, Page, TARGET_WORKERS_MAX, WorkerSummary,
    position::{List, sought},
};

/// How many tasks of a job stand where, and how many ended since a moment.
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
    let Page { items, next } = jobs::jobs(connection, filter, page)?;
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

/// How many devices a scope is for, as far as that is cheap to tell.
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
    let sql = format!("{} WHERE p.id > ?1 ORDER BY p.id LIMIT ?2", select());
    let items = rows(connection, &sql, &[after.as_str().into(), sought(page).into()], read)?;
    Ok(List::Workers.page(page, items, |summary| summary.worker.id.to_string()))
}

/// The records of all workers, by name.
pub(crate) fn worker_records(connection: &dyn Sql) -> Result<Vec<WorkerRecord>, Fault> {
    records(connection, "ORDER BY id", &[])
}

/// One worker with its counts.
pub(crate) fn worker(connection: &dyn Sql, id: &Name) -> Result<Option<WorkerSummary>, Fault> {
    row(connection, &format!("{} WHERE p.id = ?1", select()), &[id.as_str().into()], read)
}

/// The view is joined, not repeated: people and programs see the same counts.
fn select() -> String {
    let columns: Vec<String> =
        WorkerRecord::COLUMNS.split(", ").map(|column| format!("p.{column}")).collect();
    format!(
        "SELECT {}, s.device_count, s.running_count, s.idle_count, s.error_count, s.disconnected_count \
         FROM pcs p JOIN pc_device_summary s ON s.pc_id = p.id",
        columns.join(", ")
    )
}

fn read(row: &dyn Cells) -> Result<WorkerSummary, Fault> {
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
