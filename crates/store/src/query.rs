//! Filters, pages, views and counts of readers.

use crate::{FeedEntry, StoreError};
use muster_model::{
    AssignmentRecord, ChunkState, JobId, JobRecord, JobStatus, LaneStatus, Name, PoolEndRecord, PoolJobId,
    PoolJobRecord, PoolJobStatus, SessionId, TaskId, TaskStatus, Timestamp, UserId, WorkerRecord,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// Start and length of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// `next` of the page before; `None`: from the beginning. A text no store gave is an
    /// empty page, never an error.
    pub after: Option<String>,
    /// At most so many items; at least 1.
    pub limit: u32,
}

/// A stretch of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Cursor of the next page; `None`: this was the last.
    pub next: Option<String>,
}

/// A list that is read to its end, page by page.
pub struct Pages<T, R> {
    /// The next page; `None` after the last.
    cursor: Option<Cursor>,
    read: R,
    items: PhantomData<fn() -> T>,
}

/// Reads a list page by page, so many items at a time.
pub fn pages<T, R: FnMut(&Cursor) -> Result<Page<T>, StoreError>>(limit: u32, read: R) -> Pages<T, R> {
    Pages { cursor: Some(Cursor { after: None, limit }), read, items: PhantomData }
}

impl<T, R: FnMut(&Cursor) -> Result<Page<T>, StoreError>> Pages<T, R> {
    /// True if the last page was read.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.cursor.is_none()
    }

    /// Reads all items that are left.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub fn all(self) -> Result<Vec<T>, StoreError> {
        let mut items = Vec::new();
        for page in self {
            items.extend(page?);
        }
        Ok(items)
    }
}

impl<T, R: FnMut(&Cursor) -> Result<Page<T>, StoreError>> Iterator for Pages<T, R> {
    type Item = Result<Vec<T>, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let cursor = self.cursor.take()?;
        let read = (self.read)(&cursor);
        Some(read.map(|Page { items, next }| {
            self.cursor = next.map(|after| Cursor { after: Some(after), limit: cursor.limit });
            items
        }))
    }
}

/// Filter of jobs.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// Only with this status.
    pub status: Option<JobStatus>,
    /// Only of this queue.
    pub queue: Option<Name>,
}

/// Filter of tasks.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// Only with this status.
    pub status: Option<TaskStatus>,
    /// Only of this worker.
    pub worker: Option<Name>,
    /// Only of this device.
    pub lane: Option<Name>,
    /// Only those in whose result [`ARTIFACT_MARK`] stands: they may tell of a file.
    pub has_artifact: bool,
}

/// Text in the result of a task that left a file behind (N21).
pub const ARTIFACT_MARK: &str = "\"artifact\":";

/// Filter of devices.
#[derive(Clone, Debug, Default)]
pub struct LaneFilter {
    /// Only with this status.
    pub status: Option<LaneStatus>,
    /// Only of this worker.
    pub worker: Option<Name>,
}

/// Counts of a job's tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// By worker and status, sorted by worker.
    pub per_worker: Vec<(Name, TaskStatus, u64)>,
    /// Tasks that ended since the moment asked for.
    pub ended_since: u64,
}

/// A job in a list, with how far it is.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedJob {
    /// The job.
    pub job: JobRecord,
    /// Its tasks by status; `None` where the caller knows them.
    pub tasks: Option<Vec<(TaskStatus, u64)>>,
    /// Number of devices that a job which has not ended is for; `None` where counting would be expensive.
    pub targets: Option<u64>,
}

/// A scope of more workers is not worth a look at each of them.
pub const TARGET_WORKERS_MAX: usize = 100;

/// A row of view `pc_device_summary` (Q13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSummary {
    /// The worker itself.
    pub worker: WorkerRecord,
    /// Devices attached.
    pub device_count: u64,
    /// Tasks running there.
    pub running_count: u64,
    /// Devices online without a running task.
    pub idle_count: u64,
    /// Devices out of service.
    pub error_count: u64,
    /// Devices offline.
    pub disconnected_count: u64,
}

/// A stretch of the feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedPage {
    /// The entries, oldest first.
    pub entries: Vec<Arc<FeedEntry>>,
    /// The oldest number still kept; a caller that asked for less has missed some.
    pub oldest: u64,
}

/// Every worker and every device at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetView {
    /// By name.
    pub workers: Vec<WorkerRecord>,
    /// By name.
    pub lanes: Vec<LaneView>,
}

/// A device among all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneView {
    /// Its name.
    pub id: Name,
    /// The worker it is attached to.
    pub worker: Name,
    /// Its status.
    pub status: LaneStatus,
    /// True if its worker last said that it is usable.
    pub attached: bool,
    /// The task that runs on it.
    pub running: Option<TaskId>,
}

/// Counts of open work, and the oldest of it that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Jobs; one that is pending stands behind older ones of its queue.
    pub jobs: OpenCounts<JobId>,
    /// Sessions; of one that is pending nothing was given out yet.
    pub sessions: OpenCounts<SessionId>,
    /// The oldest job of the pool that nobody has, and since when, if it is among the first
    /// [`POOL_JOBS_LOOKED_AT`] that can be open.
    pub oldest_pool_job: Option<(PoolJobId, Timestamp)>,
}

/// Counts of open work of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCounts<T> {
    /// Not begun.
    pub pending: u64,
    /// Begun.
    pub running: u64,
    /// Held up on request.
    pub paused: u64,
    /// The oldest that is pending, and since when.
    pub oldest: Option<(T, Timestamp)>,
}

impl<T> Default for OpenCounts<T> {
    fn default() -> Self {
        Self { pending: 0, running: 0, paused: 0, oldest: None }
    }
}

/// No index knows which jobs of the pool wait: so many are looked at, some milliseconds' worth.
pub const POOL_JOBS_LOOKED_AT: u64 = 10_000;

/// Filter of chunks.
#[derive(Clone, Debug, Default)]
pub struct ChunkFilter {
    /// Only in this state.
    pub state: Option<ChunkState>,
    /// Only of this session.
    pub session: Option<SessionId>,
}

/// Filter of lines of the diagnostics log.
#[derive(Clone, Debug, Default)]
pub struct DiagnosticFilter {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only of this worker.
    pub worker: Option<Name>,
}

/// A job and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolJobView {
    /// As it was handed in.
    pub job: PoolJobRecord,
    /// True if somebody has it.
    pub running: bool,
    /// Its end, if it has ended.
    pub end: Option<PoolEndRecord>,
    /// The assignment whose result is the job's, with that result.
    pub result: Option<AssignmentRecord>,
}

/// Filter of jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct PoolJobFilter {
    /// Only of this client.
    pub client: Option<UserId>,
    /// Only with this status.
    pub status: Option<PoolJobStatus>,
}

impl PoolJobView {
    /// Status of the job.
    #[must_use]
    pub fn status(&self) -> PoolJobStatus {
        match &self.end {
            Some(end) => end.status,
            None if self.running => PoolJobStatus::Running,
            None => PoolJobStatus::Queued,
        }
    }
}
