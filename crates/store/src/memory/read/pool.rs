//! Reads about the pool.

use super::{MemoryReader, following, take};
use crate::{
    Cursor, Page, PoolJobFilter, PoolJobView, PoolReader, StoreError,
    memory::pool::PoolTables,
    position::{List, parse_number, sought},
};
use muster_model::{AssignmentRecord, PoolJobId, PoolJobRecord, PoolWorkerId, PoolWorkerRecord, UserId};
use std::sync::Arc;

impl PoolReader for MemoryReader {
    fn pool_jobs(&self, filter: &PoolJobFilter, page: &Cursor) -> Result<Page<PoolJobView>, StoreError> {
        let tables = self.tables();
        let start = List::PoolJobs.start(page, parse_number);
        let newest = tables.pool.jobs.values().rev();
        let wanted = |view: &PoolJobView| {
            filter.client.is_none_or(|client| client == view.job.client)
                && filter.status.is_none_or(|status| status == view.status())
        };
        let found = following(start, newest, |job, after| job.id.0 < *after);
        let views = found.map(|job| view(&tables.pool, job)).filter(wanted);
        let items = views.take(sought(page) as usize).collect();
        Ok(List::PoolJobs.page(page, items, |view| view.job.id.to_string()))
    }

    fn pool_job(&self, id: PoolJobId) -> Result<Option<PoolJobView>, StoreError> {
        let tables = self.tables();
        Ok(tables.pool.jobs.get(&id).map(|job| view(&tables.pool, job)))
    }

    fn pool_payloads(&self, ids: &[PoolJobId]) -> Result<Vec<(PoolJobId, Arc<str>)>, StoreError> {
        let tables = self.tables();
        let payload = |id: &PoolJobId| tables.pool.jobs.get(id).map(|job| Arc::clone(&job.draft.payload));
        Ok(ids.iter().filter_map(|id| Some((*id, payload(id)?))).collect())
    }

    fn assignments(&self, job: PoolJobId) -> Result<Vec<AssignmentRecord>, StoreError> {
        Ok(self.tables().pool.assignments_of(job).cloned().collect())
    }

    fn pool_workers(
        &self,
        owner: Option<UserId>,
        page: &Cursor,
    ) -> Result<Page<PoolWorkerRecord>, StoreError> {
        let tables = self.tables();
        let wanted = |worker: &&PoolWorkerRecord| owner.is_none_or(|owner| owner == worker.owner);
        let workers = tables.pool.workers.values().filter(wanted);
        let start = List::PoolWorkers.start(page, parse_number);
        let found = following(start, workers, |worker, after| worker.id.0 > *after);
        Ok(List::PoolWorkers.page(page, take(found, page), |worker| worker.id.to_string()))
    }

    fn pool_worker(&self, id: PoolWorkerId) -> Result<Option<PoolWorkerRecord>, StoreError> {
        Ok(self.tables().pool.workers.get(&id).cloned())
    }
}

fn view(pool: &PoolTables, job: &PoolJobRecord) -> PoolJobView {
    let end = pool.ends.get(&job.id).cloned();
    let result = end.as_ref().and_then(|end| pool.assignments.get(&end.assignment?)).cloned();
    let running = end.is_none() && pool.assignments_of(job.id).any(|assignment| assignment.state.is_live());
    PoolJobView { job: job.clone(), running, end, result }
}
