//! Reads for people.

use super::{MemoryStore, tables::Tables};
use crate::{
    ARTIFACT_MARK, AccountReader, Backlog, CountedJob, Cursor, FeedPage, FleetView, JobCounts, JobFilter,
    LaneFilter, LaneView, OpenCounts, OverviewReader, POOL_JOBS_LOOKED_AT, Page, Reader, ScheduleReader,
    StoreError, TARGET_WORKERS_MAX, TaskFilter, WorkerSummary,
    position::{List, Start, alert_key, parse_alert_key, parse_number, sought},
};
use muster_model::{
    AlertRecord, ApiKeyRecord, Attachment, AuditRecord, JobId, JobRecord, JobStatus, LaneRecord, LaneStatus,
    LogRecord, Name, PoolJobId, ScheduleId, ScheduleRecord, Scope, SessionId, SessionStatus, TaskId,
    TaskRecord, TaskStatus, Timestamp, UserId, UserRecord, WorkerLogRecord, WorkerRecord,
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

    pub(super) fn tables(&self) -> Arc<Tables> {
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
pub(super) fn following<'a, T: 'a, K>(
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
pub(super) fn take<'a, T: Clone + 'a>(items: impl Iterator<Item = &'a T>, page: &Cursor) -> Vec<T> {
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

impl AccountReader for MemoryReader {
    fn users(&self, page: &Cursor) -> Result<Page<UserRecord>, StoreError> {
        let tables = self.tables();
        let start = List::Users.start(page, parse_number);
        let found = following(start, tables.accounts.users.values(), |user, after| user.id.0 > *after);
        Ok(List::Users.page(page, take(found, page), |user| user.id.to_string()))
    }

    fn api_keys(&self, user: Option<UserId>, page: &Cursor) -> Result<Page<ApiKeyRecord>, StoreError> {
        let tables = self.tables();
        let wanted = |key: &&ApiKeyRecord| user.is_none_or(|user| user == key.user);
        let keys = tables.accounts.api_keys.values().filter(wanted);
        let found = following(List::ApiKeys.start(page, parse_number), keys, |key, after| key.id > *after);
        Ok(List::ApiKeys.page(page, take(found, page), |key| key.id.to_string()))
    }

    fn audit(&self, page: &Cursor) -> Result<Page<AuditRecord>, StoreError> {
        let tables = self.tables();
        let acts: Vec<(u64, AuditRecord)> =
            tables.accounts.audit.iter().rev().map(|(place, act)| (*place, act.clone())).collect();
        let start = List::Audit.start(page, parse_number);
        let found = following(start, acts.iter(), |(place, _), after| place < after);
        let numbered = List::Audit.page(page, take(found, page), |(place, _)| place.to_string());
        let items = numbered.items.into_iter().map(|(_, act)| act).collect();
        Ok(Page { items, next: numbered.next })
    }
}

impl ScheduleReader for MemoryReader {
    fn schedules(&self, page: &Cursor) -> Result<Page<ScheduleRecord>, StoreError> {
        let tables = self.tables();
        let start = List::Schedules.start(page, |text| text.parse::<ScheduleId>().ok());
        let found = following(start, tables.schedules.values(), |schedule, after| schedule.id > *after);
        Ok(List::Schedules.page(page, take(found, page), |schedule| schedule.id.to_string()))
    }

    fn schedule(&self, id: ScheduleId) -> Result<Option<ScheduleRecord>, StoreError> {
        Ok(self.tables().schedules.get(&id).cloned())
    }
}

impl OverviewReader for MemoryReader {
    fn fleet(&self) -> Result<FleetView, StoreError> {
        let tables = self.tables();
        let running = tables.tasks.values().filter(|task| task.status == TaskStatus::Running);
        let running: BTreeMap<&Name, TaskId> = running.map(|task| (&task.lane, task.id)).collect();
        let lanes = tables.lanes.values().map(|lane| LaneView {
            id: lane.id.clone(),
            worker: lane.worker.clone(),
            status: lane.status,
            attached: lane.attachment == Attachment::Online,
            running: running.get(&lane.id).copied(),
        });
        Ok(FleetView { workers: tables.workers.values().cloned().collect(), lanes: lanes.collect() })
    }

    fn backlog(&self) -> Result<Backlog, StoreError> {
        let tables = self.tables();
        let (jobs, sessions) = (open_jobs(&tables), sessions(&tables));
        Ok(Backlog { jobs, sessions, oldest_pool_job: oldest_pool_job(&tables) })
    }
}

fn open_jobs(tables: &Tables) -> OpenCounts<JobId> {
    let open = || tables.jobs.values().filter(|job| job.open);
    let of = |status: JobStatus| open().filter(move |job| job.status == status);
    let oldest = of(JobStatus::Pending).min_by_key(|job| job.seq);
    OpenCounts {
        pending: of(JobStatus::Pending).count() as u64,
        running: of(JobStatus::Running).count() as u64,
        paused: 0,
        oldest: oldest.map(|job| (job.id, job.created_at)),
    }
}

fn sessions(tables: &Tables) -> OpenCounts<SessionId> {
    let open = || tables.frames.sessions.values().filter(|session| session.open);
    let is_begun = |id: &SessionId| tables.frames.tasks_of(id).next().is_some();
    let running = || open().filter(|session| session.status == SessionStatus::Running);
    let pending = || running().filter(|session| !is_begun(&session.id));
    let oldest = pending().min_by_key(|session| session.seq);
    OpenCounts {
        pending: pending().count() as u64,
        running: running().filter(|session| is_begun(&session.id)).count() as u64,
        paused: open().filter(|session| session.status == SessionStatus::Paused).count() as u64,
        oldest: oldest.map(|session| (session.id.clone(), session.created_at)),
    }
}

fn oldest_pool_job(tables: &Tables) -> Option<(PoolJobId, Timestamp)> {
    let first = tables.pool.oldest_open();
    let window = PoolJobId(first)..PoolJobId(first.saturating_add(POOL_JOBS_LOOKED_AT));
    let mut jobs = tables.pool.jobs.range(window).map(|(_, job)| job);
    let is_had = |id: PoolJobId| tables.pool.assignments_of(id).any(|assignment| assignment.state.is_live());
    let found = jobs.find(|job| !tables.pool.ends.contains_key(&job.id) && !is_had(job.id));
    found.map(|job| (job.id, job.created_at))
}
