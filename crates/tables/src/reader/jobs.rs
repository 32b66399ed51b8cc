//! Jobs, their tasks and what happened to them.

use super::{nothing, number_start};
use crate::{
    fault::Fault,
    id_text::{JobText, TaskRange, TaskText},
    record::{record, records},
    sql::Sql,
};
use muster_model::{JobId, JobRecord, LogRecord, Name, TaskId, TaskRecord};
use muster_store::{
    ARTIFACT_MARK, Cursor, JobFilter, Page, TaskFilter,
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
        Start::After(ordinal) => TaskText::new(TaskId { job, ordinal }).task().to_owned(),
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
    record(connection, "WHERE id = ?1", &[TaskText::new(id).task().into()])
}

/// The stations of tasks from one to another, task by task, oldest first.
pub(crate) fn task_logs(connection: &dyn Sql, from: TaskId, to: TaskId) -> Result<Vec<LogRecord>, Fault> {
    let rest = "WHERE task_device_id >= ?1 AND task_device_id <= ?2 ORDER BY task_device_id, seq";
    let (from, to) = (TaskText::new(from), TaskText::new(to));
    records(connection, rest, &[from.task().into(), to.task().into()])
}

fn parse_ordinal(text: &str) -> Option<u32> {
    text.parse().ok().filter(|ordinal| *ordinal <= TaskId::ORDINAL_MAX)
}
