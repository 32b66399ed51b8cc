//! Reads about the pool: workers, jobs and what came of them (P13).

use super::{TableReader, nothing, number_start};
use crate::{
    column::{integer, sought_number},
    record::{Record, record, records, row, rows},
    rows::{pool, sequence},
    sql::{Cells, Connections, Fault, Fields, Sql, Value},
};
use muster_model::{
    AssignmentId, AssignmentRecord, PoolEndRecord, PoolJobId, PoolJobRecord, PoolJobStatus, PoolWorkerId,
    PoolWorkerRecord, UserId,
};
use muster_store::{
    Cursor, Page, PoolJobFilter, PoolJobView, PoolReader, StoreError,
    position::{List, sought},
};
use std::sync::Arc;

impl<P: Connections> PoolReader for TableReader<P> {
    fn pool_jobs(&self, filter: &PoolJobFilter, page: &Cursor) -> Result<Page<PoolJobView>, StoreError> {
        self.read(|connection| jobs(connection, filter, page))
    }

    fn pool_job(&self, id: PoolJobId) -> Result<Option<PoolJobView>, StoreError> {
        self.read(|connection| row(connection, &select(), &[sought_number(id.0).into()], view))
    }

    fn pool_payloads(&self, ids: &[PoolJobId]) -> Result<Vec<(PoolJobId, Arc<str>)>, StoreError> {
        self.read(|connection| {
            let ids: Vec<Value<'_>> = ids.iter().map(|id| sought_number(id.0).into()).collect();
            let mut payloads = Vec::with_capacity(ids.len());
            connection.each_for(
                "SELECT id, payload FROM pool_jobs WHERE id = ?1",
                ids.chunks(1),
                &mut |row| {
                    let fields = Fields::new("pool_jobs", row);
                    payloads.push((fields.number(0)?, fields.text(1)?));
                    Ok(())
                },
            )?;
            Ok(payloads)
        })
    }

    fn assignments(&self, job: PoolJobId) -> Result<Vec<AssignmentRecord>, StoreError> {
        if job > PoolJobId::MAX {
            return Ok(Vec::new());
        }
        let (none, last) = (AssignmentId::new(job, 0), AssignmentId::new(job, AssignmentId::PER_JOB_MAX));
        let params = [sought_number(none.0).into(), sought_number(last.0).into()];
        self.read(|connection| records(connection, "WHERE a.id > ?1 AND a.id <= ?2 ORDER BY a.id", &params))
    }

    fn pool_workers(
        &self,
        owner: Option<UserId>,
        page: &Cursor,
    ) -> Result<Page<PoolWorkerRecord>, StoreError> {
        self.read(|connection| {
            let Some(after) = number_start(List::PoolWorkers, page, -1) else {
                return Ok(nothing());
            };
            // The index knows the workers of an owner in the order of their numbers.
            let of_owner = if owner.is_some() { "owner_user_id = ?2" } else { "CAST(?2 AS BIGINT) IS NULL" };
            let rest = format!("WHERE id > ?1 AND {of_owner} ORDER BY id LIMIT ?3");
            let owner = owner.map(|owner| sought_number(owner.0));
            let items = records(connection, &rest, &[after.into(), owner.into(), sought(page).into()])?;
            Ok(List::PoolWorkers.page(page, items, |worker: &PoolWorkerRecord| worker.id.to_string()))
        })
    }

    fn pool_worker(&self, id: PoolWorkerId) -> Result<Option<PoolWorkerRecord>, StoreError> {
        self.read(|connection| record(connection, "WHERE id = ?1", &[sought_number(id.0).into()]))
    }
}

/// Jobs, newest first.
///
/// A client's own are found by an index; by status there is none, so a bounded number of rows is looked at, their short
/// columns only, and the rest is left to the next page.
fn jobs(connection: &dyn Sql, filter: &PoolJobFilter, page: &Cursor) -> Result<Page<PoolJobView>, Fault> {
    let Some(before) = number_start(List::PoolJobs, page, i64::MAX) else {
        return Ok(nothing());
    };
    let mut search = Search { before, left: ROWS_MAX, found: Vec::new() };
    search.run(connection, filter, sought(page))?;
    let mut items = Vec::with_capacity(search.found.len());
    connection.each_for(&select(), search.found.chunks(1), &mut |row| {
        items.push(view(row)?);
        Ok(())
    })?;
    let mut found = List::PoolJobs.page(page, items, |view| view.job.id.to_string());
    if search.left == 0 && found.next.is_none() {
        found.next = Some(List::PoolJobs.after(&search.before.to_string()));
    }
    Ok(found)
}

/// A walk over jobs, newest first.
struct Search {
    /// Those before this one were not looked at yet.
    before: i64,
    /// Number of rows that may still be read.
    left: u32,
    /// The ids of those that are wanted.
    found: Vec<Value<'static>>,
}

impl Search {
    /// Looks until there are so many that are wanted, or no more may be looked at.
    fn run(&mut self, connection: &dyn Sql, filter: &PoolJobFilter, wanted: u32) -> Result<(), Fault> {
        let (sql, oldest) = (scan(filter), oldest(connection, filter)?);
        // Without a filter the first step finds all; else the steps soon become long ones.
        let mut step = wanted;
        while self.found.len() < wanted as usize && self.left > 0 {
            step = step.min(self.left);
            let mut params = vec![self.before.into(), oldest.into(), step.into()];
            params.extend(filter.client.map(|client| Value::from(sought_number(client.0))));
            let looked_at = rows(connection, &sql, &params, |row| {
                Ok((Fields::new("pool_jobs", row).number(0)?, is_wanted(row, filter)?))
            })?;
            self.take(&looked_at, wanted as usize);
            if looked_at.len() < step as usize {
                break;
            }
            step = step.saturating_mul(4);
        }
        Ok(())
    }

    /// Takes up to so many that are wanted; what follows them was not looked at.
    fn take(&mut self, jobs: &[(i64, bool)], wanted: usize) {
        for (id, is_wanted) in jobs {
            if self.found.len() >= wanted {
                return;
            }
            (self.before, self.left) = (*id, self.left - 1);
            if *is_wanted {
                self.found.push(Value::Integer(*id));
            }
        }
    }
}

/// The oldest job that can be wanted: what has not ended is not below the oldest that is open.
fn oldest(connection: &dyn Sql, filter: &PoolJobFilter) -> Result<i64, Fault> {
    if is_open(filter) { integer(sequence::pool(connection)?.oldest_open) } else { Ok(0) }
}

/// True if only jobs that have not ended are wanted.
fn is_open(filter: &PoolJobFilter) -> bool {
    filter.status.is_some_and(|status| !status.is_ended())
}

fn is_wanted(row: &dyn Cells, filter: &PoolJobFilter) -> Result<bool, Fault> {
    let fields = Fields::new("pool_jobs", row);
    let Some(wanted) = filter.status else {
        return Ok(true);
    };
    let status = if let Some(end) = fields.text::<Option<_>>(1)? {
        end
    } else if fields.number(2)? {
        PoolJobStatus::Running
    } else {
        PoolJobStatus::Queued
    };
    Ok(wanted == status)
}

fn view(row: &dyn Cells) -> Result<PoolJobView, Fault> {
    let job = PoolJobRecord::read(row)?;
    let is_running = Fields::new("pool_jobs", row).number(PoolJobRecord::WIDTH)?;
    if Fields::from("pool_ends", row, END).is_null(0)? {
        return Ok(PoolJobView { job, running: is_running, end: None, result: None });
    }
    let end = PoolEndRecord::read_at(row, END)?;
    let has_result = !Fields::from("pool_assignments", row, RESULT).is_null(0)?;
    let result = if has_result { Some(AssignmentRecord::read_at(row, RESULT)?) } else { None };
    Ok(PoolJobView { job, running: false, end: Some(end), result })
}

/// Columns that [`view`] expects.
fn select() -> String {
    format!(
        "SELECT {}, {}, {}, {} FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id \
         LEFT JOIN pool_assignments a ON a.id = e.assignment_id WHERE j.id = ?1",
        PoolJobRecord::COLUMNS,
        pool::is_running(),
        PoolEndRecord::COLUMNS,
        AssignmentRecord::COLUMNS
    )
}

/// Query for what [`is_wanted`] expects; looks up running assignments only where the filter needs them.
fn scan(filter: &PoolJobFilter) -> String {
    let is_running = if is_open(filter) { pool::is_running() } else { "CAST(0 AS BIGINT)".to_owned() };
    let of_client = if filter.client.is_some() { "j.client_user_id = ?4 AND" } else { "" };
    format!(
        "SELECT j.id, e.status, {is_running} FROM pool_jobs j \
         LEFT JOIN pool_ends e ON e.id = j.id AND e.id < ?1 AND e.id >= ?2 \
         WHERE {of_client} j.id < ?1 AND j.id >= ?2 ORDER BY j.id DESC LIMIT ?3"
    )
}

/// Index of the first column of the end.
const END: usize = PoolJobRecord::WIDTH + 1;

/// Index of the first column of the assignment that ended it.
const RESULT: usize = END + PoolEndRecord::WIDTH;

/// Rows that one call reads at most: some tens of milliseconds.
const ROWS_MAX: u32 = 50_000;
