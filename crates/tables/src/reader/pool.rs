//! Reads about the pool.

mod jobs;

use super::{TableReader, nothing, number_start};
use crate::{
    fault::Fault,
    rows::{assignment, list, one, pool_worker, sought_number},
    sql::{Connections, Sql},
};
use muster_model::{AssignmentRecord, PoolJobId, PoolWorkerId, PoolWorkerRecord, UserId};
use muster_store::{
    Cursor, Page, PoolJobFilter, PoolJobView, PoolReader, StoreError,
    position::{List, sought},
};
use std::sync::Arc;

impl<P: Connections> PoolReader for TableReader<P> {
    fn pool_jobs(&self, filter: &PoolJobFilter, page: &Cursor) -> Result<Page<PoolJobView>, StoreError> {
        self.read(|connection| jobs::jobs(connection, filter, page))
    }

    fn pool_job(&self, id: PoolJobId) -> Result<Option<PoolJobView>, StoreError> {
        self.read(|connection| jobs::job(connection, id))
    }

    fn pool_payloads(&self, ids: &[PoolJobId]) -> Result<Vec<(PoolJobId, Arc<str>)>, StoreError> {
        self.read(|connection| jobs::payloads(connection, ids))
    }

    fn assignments(&self, job: PoolJobId) -> Result<Vec<AssignmentRecord>, StoreError> {
        if job > PoolJobId::MAX {
            return Ok(Vec::new());
        }
        self.read(|connection| assignment::all_of(connection, job))
    }

    fn pool_workers(
        &self,
        owner: Option<UserId>,
        page: &Cursor,
    ) -> Result<Page<PoolWorkerRecord>, StoreError> {
        self.read(|connection| workers(connection, owner, page))
    }

    fn pool_worker(&self, id: PoolWorkerId) -> Result<Option<PoolWorkerRecord>, StoreError> {
        self.read(|connection| worker(connection, id))
    }
}

fn workers(
    connection: &dyn Sql,
    owner: Option<UserId>,
    page: &Cursor,
) -> Result<Page<PoolWorkerRecord>, Fault> {
    let Some(after) = number_start(List::PoolWorkers, page, -1) else {
        return Ok(nothing());
    };
    // The index knows the workers of an owner in the order of their numbers.
    let of_owner = if owner.is_some() { "owner_user_id = ?2" } else { "CAST(?2 AS BIGINT) IS NULL" };
    let sql = format!(
        "SELECT {} FROM workers WHERE id > ?1 AND {of_owner} ORDER BY id LIMIT ?3",
        pool_worker::COLUMNS
    );
    let owner = owner.map(|owner| sought_number(owner.0));
    let items =
        list(connection, &sql, &[after.into(), owner.into(), sought(page).into()], pool_worker::read)?;
    Ok(List::PoolWorkers.page(page, items, |worker| worker.id.to_string()))
}

fn worker(connection: &dyn Sql, id: PoolWorkerId) -> Result<Option<PoolWorkerRecord>, Fault> {
    let sql = format!("SELECT {} FROM workers WHERE id = ?1", pool_worker::COLUMNS);
    one(connection, &sql, &[sought_number(id.0).into()], pool_worker::read)
}
