//! Lists and history for people.

mod accounts;
mod counts;
mod feed;
mod fleet;
mod frames;
mod jobs;
mod overview;
mod pool;
mod schedules;

use crate::{
    fault::Fault,
    sql::{Connections, Sql},
};
use muster_model::{
    AlertRecord, JobId, JobRecord, LaneRecord, LogRecord, Name, Scope, TaskId, TaskRecord, Timestamp,
    WorkerLogRecord, WorkerRecord,
};
use muster_store::{
    CountedJob, Cursor, FeedPage, JobCounts, JobFilter, LaneFilter, Page, Reader, StoreError, TaskFilter,
    WorkerSummary,
    position::{List, Start, parse_number},
};

/// Reads on the connections of a store.
pub struct TableReader<P> {
    connections: P,
}

impl<P: Connections> TableReader<P> {
    /// A reader on these connections.
    pub fn new(connections: P) -> Self {
        Self { connections }
    }

    fn read<T>(&self, read: impl FnOnce(&dyn Sql) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.connections.read(read).map_err(StoreError::from)
    }
}

impl<P: Connections> Reader for TableReader<P> {
    fn jobs(&self, filter: &JobFilter, page: &Cursor) -> Result<Page<JobRecord>, StoreError> {
        self.read(|connection| jobs::jobs(connection, filter, page))
    }

    fn counted_jobs(
        &self,
        filter: &JobFilter,
        page: &Cursor,
        known: &dyn Fn(JobId) -> bool,
    ) -> Result<Page<CountedJob>, StoreError> {
        self.read(|connection| counts::counted_jobs(connection, filter, page, known))
    }

    fn targets(&self, scope: &Scope) -> Result<Option<u64>, StoreError> {
        self.read(|connection| counts::targets(connection, scope))
    }

    fn job(&self, id: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.read(|connection| jobs::job(connection, id))
    }

    fn job_counts(&self, id: JobId, rate_since: Timestamp) -> Result<JobCounts, StoreError> {
        self.read(|connection| counts::job_counts(connection, id, rate_since))
    }

    fn tasks(&self, job: JobId, filter: &TaskFilter, page: &Cursor) -> Result<Page<TaskRecord>, StoreError> {
        self.read(|connection| jobs::tasks(connection, job, filter, page))
    }

    fn task(&self, id: TaskId) -> Result<Option<TaskRecord>, StoreError> {
        self.read(|connection| jobs::task(connection, id))
    }

    fn task_log(&self, id: TaskId) -> Result<Vec<LogRecord>, StoreError> {
        self.read(|connection| jobs::task_logs(connection, id, id))
    }

    fn task_logs(&self, from: TaskId, to: TaskId) -> Result<Vec<LogRecord>, StoreError> {
        self.read(|connection| jobs::task_logs(connection, from, to))
    }

    fn lanes(&self, filter: &LaneFilter, page: &Cursor) -> Result<Page<LaneRecord>, StoreError> {
        self.read(|connection| fleet::lanes(connection, filter, page))
    }

    fn lane(&self, id: &Name) -> Result<Option<LaneRecord>, StoreError> {
        self.read(|connection| fleet::lane(connection, id))
    }

    fn worker_records(&self) -> Result<Vec<WorkerRecord>, StoreError> {
        self.read(counts::worker_records)
    }

    fn workers(&self, page: &Cursor) -> Result<Page<WorkerSummary>, StoreError> {
        self.read(|connection| counts::workers(connection, page))
    }

    fn worker(&self, id: &Name) -> Result<Option<WorkerSummary>, StoreError> {
        self.read(|connection| counts::worker(connection, id))
    }

    fn worker_log(&self, id: &Name, limit: u32) -> Result<Vec<WorkerLogRecord>, StoreError> {
        self.read(|connection| fleet::worker_log(connection, id, limit))
    }

    fn alerts(&self, page: &Cursor) -> Result<Page<AlertRecord>, StoreError> {
        self.read(|connection| fleet::alerts(connection, page))
    }

    fn feed(&self, after: u64, limit: u32) -> Result<FeedPage, StoreError> {
        self.read(|connection| feed::feed(connection, after, limit))
    }
}

/// A page without items.
fn nothing<T>() -> Page<T> {
    Page { items: Vec::new(), next: None }
}

/// The records of a page, without the numbers of their rows.
fn without_numbers<T>(page: Page<(u64, T)>) -> Page<T> {
    Page { items: page.items.into_iter().map(|(_, item)| item).collect(), next: page.next }
}

/// The number after which a page begins, `beginning` being before all; `None`: nowhere.
fn number_start(list: List, page: &Cursor, beginning: i64) -> Option<i64> {
    match list.start(page, parse_number) {
        Start::Beginning => Some(beginning),
        Start::After(number) => i64::try_from(number).ok(),
        Start::Nowhere => None,
    }
}
