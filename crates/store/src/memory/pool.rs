//! The rows of the pool, and what is done with them.

use crate::{
    Cursor, Cutoffs, Loaded, Page, PoolJobFilter, PoolJobView, PoolReader, StoreError,
    memory::read::{MemoryReader, following, take},
    position::{List, parse_number, sought},
};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, PoolChange, PoolCounters, PoolEndRecord, PoolJobDraft,
    PoolJobId, PoolJobRecord, PoolKeyRecord, PoolWorkerId, PoolWorkerRecord, SubmissionKey, Timestamp,
    UserId,
};
use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

/// All rows of the pool of a store in memory.
#[derive(Clone, Default)]
pub(crate) struct PoolTables {
    pub(crate) workers: BTreeMap<PoolWorkerId, PoolWorkerRecord>,
    pub(crate) jobs: BTreeMap<PoolJobId, PoolJobRecord>,
    pub(crate) assignments: BTreeMap<AssignmentId, AssignmentRecord>,
    pub(crate) ends: BTreeMap<PoolJobId, PoolEndRecord>,
    keys: BTreeMap<(UserId, SubmissionKey), PoolKeyRecord>,
    counters: PoolCounters,
}

impl PoolTables {
    /// The assignments of a job, oldest first.
    pub(crate) fn assignments_of(&self, job: PoolJobId) -> impl Iterator<Item = &AssignmentRecord> {
        self.assignments.range(assignments_of(job)).map(|(_, assignment)| assignment)
    }

    /// From where on there may be live jobs.
    pub(crate) fn oldest_open(&self) -> u64 {
        self.counters.oldest_open
    }

    /// An assignment without its result.
    pub(crate) fn assignment(&self, id: AssignmentId) -> Option<AssignmentRecord> {
        self.assignments.get(&id).map(without_result)
    }

    /// Outcome of a submission.
    pub(crate) fn key(&self, client: UserId, key: &SubmissionKey) -> Option<PoolKeyRecord> {
        self.keys.get(&(client, key.clone())).cloned()
    }

    /// Hands over everything that is live.
    pub(crate) fn load(&self, sink: &mut dyn FnMut(Loaded)) {
        let mut pool = |change| sink(Loaded::Pool(change));
        pool(PoolChange::Counters(self.counters));
        for worker in self.workers.values() {
            let record = PoolWorkerRecord { specs_json: None, ..worker.clone() };
            pool(PoolChange::Worker(Box::new(record)));
        }
        let live = self.jobs.range(PoolJobId(self.counters.oldest_open)..).map(|(_, job)| job);
        for job in live.filter(|job| !self.ends.contains_key(&job.id)) {
            pool(PoolChange::Job(Box::new(without_payload(job))));
            for assignment in self.assignments_of(job.id) {
                pool(PoolChange::Assignment(Box::new(without_result(assignment))));
            }
        }
    }

    /// Writes a row.
    pub(crate) fn write(&mut self, change: &PoolChange) {
        match change {
            PoolChange::Worker(worker) => self.write_worker(worker),
            PoolChange::Job(job) => drop(self.jobs.insert(job.id, (**job).clone())),
            PoolChange::Assignment(assignment) => self.write_assignment(assignment),
            PoolChange::End(end) => drop(self.ends.insert(end.job, end.clone())),
            PoolChange::Key(key) => drop(self.keys.insert((key.client, key.key.clone()), key.clone())),
            PoolChange::Counters(counters) => self.counters = *counters,
        }
    }

    /// A worker that was seen stays seen; its specs as JSON stay where the record has none.
    fn write_worker(&mut self, worker: &PoolWorkerRecord) {
        let old = self.workers.remove(&worker.id);
        let last_seen = worker.last_seen.max(old.as_ref().and_then(|old| old.last_seen));
        let specs_json = worker.specs_json.clone().or(old.and_then(|old| old.specs_json));
        self.workers.insert(worker.id, PoolWorkerRecord { last_seen, specs_json, ..worker.clone() });
    }

    /// An assignment that was handed in keeps its result when it is written without one.
    fn write_assignment(&mut self, assignment: &AssignmentRecord) {
        let old = self.assignments.remove(&assignment.id).and_then(|old| old.result);
        let handed_in = matches!(assignment.state, AssignmentState::Completed | AssignmentState::Failed);
        let result = assignment.result.clone().or(old.filter(|_| handed_in));
        self.assignments.insert(assignment.id, AssignmentRecord { result, ..assignment.clone() });
    }

    /// Notes signs of life, where they are news.
    pub(crate) fn sight(&mut self, sightings: &[(PoolWorkerId, Timestamp)]) {
        for (worker, at) in sightings {
            if let Some(worker) = self.workers.get_mut(worker) {
                worker.last_seen = worker.last_seen.max(Some(*at));
            }
        }
    }

    /// Deletes what is old, a bounded number of jobs at a time; answers whether more remains.
    pub(crate) fn prune(&mut self, cutoffs: &Cutoffs) -> bool {
        self.keys.retain(|_, key| key.at >= cutoffs.keys);
        let old = self.ends.values().filter(|end| end.at < cutoffs.history);
        let jobs: Vec<PoolJobId> = old.map(|end| end.job).take(JOBS_MAX).collect();
        for job in &jobs {
            self.ends.remove(job);
            self.jobs.remove(job);
            self.assignments.extract_if(assignments_of(*job), |_, _| true).for_each(drop);
        }
        jobs.len() == JOBS_MAX
    }
}

fn without_payload(job: &PoolJobRecord) -> PoolJobRecord {
    let draft = PoolJobDraft { payload: "".into(), ..job.draft.clone() };
    PoolJobRecord { draft, ..*job }
}

fn without_result(assignment: &AssignmentRecord) -> AssignmentRecord {
    AssignmentRecord { result: None, ..assignment.clone() }
}

fn assignments_of(job: PoolJobId) -> RangeInclusive<AssignmentId> {
    AssignmentId::new(job, 0)..=AssignmentId::new(job, AssignmentId::PER_JOB_MAX)
}

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

/// Jobs that one call deletes at most.
const JOBS_MAX: usize = 100;
