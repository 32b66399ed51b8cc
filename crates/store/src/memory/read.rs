//! Reads for people.

mod accounts;
mod frames;
mod overview;
mod pool;
mod schedules;

use super::{MemoryStore, tables::Tables};
use crate::{
    ARTIFACT_MARK, CountedJob, Cursor, FeedPage, JobCounts, JobFilter, LaneFilter, Page, Reader, StoreError,
    TARGET_WORKERS_MAX, TaskFilter, WorkerSummary,
    position::{List, Start, alert_key, parse_alert_key, parse_number, sought},
};
use muster_model::{
    AlertRecord, JobId, JobRecord, LaneRecord, LaneStatus, LogRecord, Name, Scope, TaskId, TaskRecord,
    TaskStatus, Timestamp, WorkerLogRecord, WorkerRecord,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Reads the tables as they are when asked.
pub(crate) struct MemoryReader {
    store: MemoryStore,
}

impl MemoryReader {
    pub(crate) fn new(store: MemoryStore) -> Self {
        Self { store }
    }

    fn tables(&self) -> Arc<Tables> {
        Arc::clone(&self.store.lock().tables)
    }
}

impl Reader for MemoryReader {
    fn jobs(&self, filter: &JobFilter, page: &Cursor) -> Result<Page<JobRecord>, StoreError> {
        Ok(jobs(&self.tables(), filter, page))
    }

    fn counted_jobs(
        &self,
        filter: &JobFilter,
        page: &Cursor,
        known: &dyn Fn(JobId) -> bool,
    ) -> Result<Page<CountedJob>, StoreError> {
        let tables = self.tables();
        let Page { items, next } = jobs(&tables, filter, page);
        let counted = |job: JobRecord| {
            let is_known = !job.open && known(job.id);
            let tasks = (!is_known).then(|| by_status(&tables, job.id));
            let targets = (!job.status.is_ended()).then(|| targets(&tables, &job.scope)).flatten();
            CountedJob { job, tasks, targets }
        };
        Ok(Page { items: items.into_iter().map(counted).collect(), next })
    }

    fn targets(&self, scope: &Scope) -> Result<Option<u64>, StoreError> {
        Ok(targets(&self.tables(), scope))
    }

    fn job(&self, id: JobId) -> Result<Option<JobRecord>, StoreError> {
        Ok(self.tables().jobs.get(&id).cloned())
    }

    fn job_counts(&self, id: JobId, rate_since: Timestamp) -> Result<JobCounts, StoreError> {
        let tables = self.tables();
        let mut per_worker: BTreeMap<(Name, TaskStatus), u64> = BTreeMap::new();
        let mut ended_since = 0;
        for task in tables.tasks_of(id) {
            *per_worker.entry((task.worker.clone(), task.status)).or_default() += 1;
            ended_since += u64::from(task.completed_at.is_some_and(|at| at >= rate_since));
        }
        let per_worker =
            per_worker.into_iter().map(|((worker, status), count)| (worker, status, count)).collect();
        Ok(JobCounts { per_worker, ended_since })
    }

    fn tasks(&self, job: JobId, filter: &TaskFilter, page: &Cursor) -> Result<Page<TaskRecord>, StoreError> {
        let tables = self.tables();
        let wanted = |task: &&TaskRecord| {
            filter.status.is_none_or(|status| status == task.status)
                && filter.worker.as_ref().is_none_or(|worker| *worker == task.worker)
                && filter.lane.as_ref().is_none_or(|lane| *lane == task.lane)
                && (!filter.has_artifact || tells_of_artifact(task))
        };
        let start = List::Tasks.start(page, |text| text.parse::<u32>().ok());
        let tasks = tables.tasks_of(job).filter(wanted);
        let items = following(start, tasks, |task, after| task.id.ordinal > *after);
        Ok(List::Tasks.page(page, take(items, page), |task| task.id.ordinal.to_string()))
    }

    fn task(&self, id: TaskId) -> Result<Option<TaskRecord>, StoreError> {
        Ok(self.tables().tasks.get(&id).cloned())
    }

    fn task_log(&self, id: TaskId) -> Result<Vec<LogRecord>, StoreError> {
        self.task_logs(id, id)
    }

    fn task_logs(&self, from: TaskId, to: TaskId) -> Result<Vec<LogRecord>, StoreError> {
        if from > to {
            return Ok(Vec::new());
        }
        Ok(self.tables().logs.range((from, 0)..=(to, u32::MAX)).map(|(_, log)| log.clone()).collect())
    }

    fn lanes(&self, filter: &LaneFilter, page: &Cursor) -> Result<Page<LaneRecord>, StoreError> {
        let tables = self.tables();
        let wanted = |lane: &&LaneRecord| {
            filter.status.is_none_or(|status| status == lane.status)
                && filter.worker.as_ref().is_none_or(|worker| *worker == lane.worker)
        };
        let start = List::Lanes.start(page, |text| Name::new(text).ok());
        let items = following(start, tables.lanes.values().filter(wanted), |lane, after| lane.id > *after);
        Ok(List::Lanes.page(page, take(items, page), |lane| lane.id.to_string()))
    }

    fn lane(&self, id: &Name) -> Result<Option<LaneRecord>, StoreError> {
        Ok(self.tables().lanes.get(id).cloned())
    }

    fn worker_records(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        Ok(self.tables().workers.values().cloned().collect())
    }

    fn workers(&self, page: &Cursor) -> Result<Page<WorkerSummary>, StoreError> {
        let tables = self.tables();
        let start = List::Workers.start(page, |text| Name::new(text).ok());
        let found = following(start, tables.workers.values(), |worker, after| worker.id > *after);
        let items = take(found, page).into_iter().map(|worker| summary(&tables, worker)).collect();
        Ok(List::Workers.page(page, items, |summary: &WorkerSummary| summary.worker.id.to_string()))
    }

    fn worker(&self, id: &Name) -> Result<Option<WorkerSummary>, StoreError> {
        let tables = self.tables();
        Ok(tables.workers.get(id).cloned().map(|worker| summary(&tables, worker)))
    }

    fn worker_log(&self, id: &Name, limit: u32) -> Result<Vec<WorkerLogRecord>, StoreError> {
        let tables = self.tables();
        let logs = tables.worker_logs.iter().rev().filter(|log| log.worker == *id);
        Ok(logs.take(limit as usize).cloned().collect())
    }

    fn alerts(&self, page: &Cursor) -> Result<Page<AlertRecord>, StoreError> {
        let tables = self.tables();
        let start = List::Alerts.start(page, parse_alert_key);
        let alerts = tables.alerts.values().rev();
        let items = following(start, alerts, |alert, after| (alert.at.0, alert.id) < *after);
        Ok(List::Alerts.page(page, take(items, page), |alert| alert_key(alert.at.0, alert.id)))
    }

    fn feed(&self, after: u64, limit: u32) -> Result<FeedPage, StoreError> {
        let tables = self.tables();
        let oldest = tables.feed.first().map_or(1, |(_, entry)| entry.seq);
        let skipped = usize::try_from(after.saturating_add(1).saturating_sub(oldest)).unwrap_or(usize::MAX);
        let entries = tables.feed.iter().skip(skipped).take(limit as usize);
        Ok(FeedPage { entries: entries.map(|(_, entry)| entry.clone()).collect(), oldest })
    }
}

/// The items a page begins with.
fn following<'a, T: 'a, K>(
    start: Start<K>,
    items: impl Iterator<Item = &'a T>,
    follows: impl Fn(&T, &K) -> bool,
) -> impl Iterator<Item = &'a T> {
    items.filter(move |item| match &start {
        Start::Beginning => true,
        Start::After(key) => follows(item, key),
        Start::Nowhere => false,
    })
}

/// One item more than the page may have, where there is one.
fn take<'a, T: Clone + 'a>(items: impl Iterator<Item = &'a T>, page: &Cursor) -> Vec<T> {
    items.take(sought(page) as usize).cloned().collect()
}

fn jobs(tables: &Tables, filter: &JobFilter, page: &Cursor) -> Page<JobRecord> {
    let wanted = |job: &&JobRecord| {
        filter.status.is_none_or(|status| status == job.status)
            && filter.queue.as_ref().is_none_or(|queue| *queue == job.queue)
    };
    let mut jobs: Vec<&JobRecord> = tables.jobs.values().filter(wanted).collect();
    jobs.sort_by_key(|job| std::cmp::Reverse(job.seq));
    let start = List::Jobs.start(page, parse_number);
    let items = following(start, jobs.into_iter(), |job, after| job.seq < *after);
    List::Jobs.page(page, take(items, page), |job| job.seq.to_string())
}

fn by_status(tables: &Tables, id: JobId) -> Vec<(TaskStatus, u64)> {
    let mut counts: BTreeMap<TaskStatus, u64> = BTreeMap::new();
    tables.tasks_of(id).for_each(|task| *counts.entry(task.status).or_default() += 1);
    counts.into_iter().collect()
}

fn targets(tables: &Tables, scope: &Scope) -> Option<u64> {
    match scope {
        Scope::All => Some(tables.lanes.len() as u64),
        Scope::Workers(workers) if workers.len() <= TARGET_WORKERS_MAX => {
            Some(tables.lanes.values().filter(|lane| workers.contains(&lane.worker)).count() as u64)
        }
        Scope::Devices(devices) => Some(devices.len() as u64),
        Scope::Workers(_) | Scope::Labels(_) => None,
    }
}

fn tells_of_artifact(task: &TaskRecord) -> bool {
    task.result.as_deref().is_some_and(|result| result.contains(ARTIFACT_MARK))
}

fn summary(tables: &Tables, worker: WorkerRecord) -> WorkerSummary {
    let running = || tables.tasks.values().filter(|task| task.status == TaskStatus::Running);
    let busy: BTreeSet<&Name> = running().map(|task| &task.lane).collect();
    let lanes: Vec<&LaneRecord> = tables.lanes.values().filter(|lane| lane.worker == worker.id).collect();
    let count = |status| lanes.iter().filter(|lane| lane.status == status).count() as u64;
    let idle = |lane: &&&LaneRecord| lane.status == LaneStatus::Online && !busy.contains(&lane.id);
    WorkerSummary {
        device_count: lanes.len() as u64,
        running_count: running().filter(|task| task.worker == worker.id).count() as u64,
        idle_count: lanes.iter().filter(idle).count() as u64,
        error_count: count(LaneStatus::Error),
        disconnected_count: count(LaneStatus::Offline),
        worker,
    }
}
