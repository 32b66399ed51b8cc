//! Jobs of the pool and what came of them (P13).

use crate::{
    fault::Fault,
    fields::Fields,
    reader::{nothing, number_start},
    rows::{assignment, integer, one, pool_end, pool_job, sequence, sought_number},
};
use muster_model::{PoolJobId, PoolJobStatus};
use muster_store::{
    Cursor, Page, PoolJobFilter, PoolJobView,
    position::{List, sought},
};
use rusqlite::{Connection, Row, params};
use std::sync::Arc;

/// Jobs, newest first.
///
/// A client's own are found by an index; by status there is none, so a bounded number of rows is looked at, their short
/// columns only, and the rest is left to the next page.
pub(crate) fn jobs(
    connection: &Connection,
    filter: &PoolJobFilter,
    page: &Cursor,
) -> Result<Page<PoolJobView>, Fault> {
    let Some(before) = number_start(List::PoolJobs, page, i64::MAX) else {
        return Ok(nothing());
    };
    let oldest = oldest(connection, filter)?;
    let mut statement =
        connection.prepare_cached(if filter.client.is_some() { SCAN_OF_CLIENT } else { SCAN })?;
    let mut rows = match filter.client {
        Some(client) => statement.query(params![before, oldest, ROWS_MAX, sought_number(client.0)])?,
        None => statement.query(params![before, oldest, ROWS_MAX])?,
    };
    let (mut items, mut looked_at, mut last) = (Vec::new(), 0, PoolJobId(0));
    while items.len() < sought(page) as usize
        && let Some(row) = rows.next()?
    {
        looked_at += 1;
        last = PoolJobId(Fields::new("pool_jobs", row).number(0)?);
        if is_wanted(connection, row, filter)? {
            items.extend(job(connection, last)?);
        }
    }
    let mut found = List::PoolJobs.page(page, items, |view| view.job.id.to_string());
    if looked_at == ROWS_MAX && found.next.is_none() {
        found.next = Some(List::PoolJobs.after(&last.to_string()));
    }
    Ok(found)
}

/// One job.
pub(crate) fn job(connection: &Connection, id: PoolJobId) -> Result<Option<PoolJobView>, Fault> {
    let sql = format!(
        "SELECT {}, {} FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id WHERE j.id = ?1",
        pool_job::COLUMNS,
        pool_end::COLUMNS
    );
    one(connection, &sql, [sought_number(id.0)], |row| view(connection, row))
}

/// The payloads of jobs; those that do not exist are left out.
pub(crate) fn payloads(
    connection: &Connection,
    ids: &[PoolJobId],
) -> Result<Vec<(PoolJobId, Arc<str>)>, Fault> {
    let sql = "SELECT id, payload FROM pool_jobs WHERE id = ?1";
    let payload = |id: &PoolJobId| {
        one(connection, sql, [sought_number(id.0)], |row| {
            Ok((*id, Arc::from(Fields::new("pool_jobs", row).text(1)?)))
        })
    };
    ids.iter().filter_map(|id| payload(id).transpose()).collect()
}

/// The oldest job that can be wanted: what has not ended is not below the oldest that is open.
fn oldest(connection: &Connection, filter: &PoolJobFilter) -> Result<i64, Fault> {
    match filter.status {
        Some(status) if !status.is_ended() => integer(sequence::pool(connection)?.oldest_open),
        _ => Ok(0),
    }
}

fn is_wanted(connection: &Connection, row: &Row<'_>, filter: &PoolJobFilter) -> Result<bool, Fault> {
    let fields = Fields::new("pool_jobs", row);
    let Some(wanted) = filter.status else {
        return Ok(true);
    };
    let status = if !fields.is_null(1)? {
        fields.word(1, pool_end::ended)?
    } else if wanted.is_ended() {
        return Ok(false);
    } else if assignment::any_live(connection, PoolJobId(fields.number(0)?))? {
        PoolJobStatus::Running
    } else {
        PoolJobStatus::Queued
    };
    Ok(wanted == status)
}

fn view(connection: &Connection, row: &Row<'_>) -> Result<PoolJobView, Fault> {
    let job = pool_job::read(row)?;
    if Fields::new("pool_ends", row).is_null(pool_job::WIDTH)? {
        let running = assignment::any_live(connection, job.id)?;
        return Ok(PoolJobView { job, running, end: None, result: None });
    }
    let end = pool_end::read_at(row, pool_job::WIDTH)?;
    let result = match end.assignment {
        Some(id) => assignment::find(connection, id, assignment::COLUMNS)?,
        None => None,
    };
    Ok(PoolJobView { job, running: false, end: Some(end), result })
}

const SCAN: &str = "SELECT j.id, e.status FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id \
     WHERE j.id < ?1 AND j.id >= ?2 ORDER BY j.id DESC LIMIT ?3";

const SCAN_OF_CLIENT: &str = "SELECT j.id, e.status FROM pool_jobs j INDEXED BY pool_jobs_of_client \
     LEFT JOIN pool_ends e ON e.id = j.id \
     WHERE j.client_user_id = ?4 AND j.id < ?1 AND j.id >= ?2 ORDER BY j.id DESC LIMIT ?3";

/// How many rows one call looks at: some tens of milliseconds.
const ROWS_MAX: u32 = 50_000;
