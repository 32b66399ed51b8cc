//! What readers ask and are told.

use crate::FeedEntry;
use muster_model::{JobRecord, JobStatus, LaneStatus, Name, TaskStatus, WorkerRecord};

/// Where a page begins and how long it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// What the page before gave as `next`; `None`: from the beginning. A text no store gave is an
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
    /// Where the next page begins; `None`: this was the last.
    pub next: Option<String>,
}

/// Which jobs.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// Only with this status.
    pub status: Option<JobStatus>,
    /// Only of this queue.
    pub queue: Option<Name>,
}

/// Which tasks.
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

/// How the result of a task begins to tell of a file that it left behind (N21).
pub const ARTIFACT_MARK: &str = "\"artifact\":";

/// Which devices.
#[derive(Clone, Debug, Default)]
pub struct LaneFilter {
    /// Only with this status.
    pub status: Option<LaneStatus>,
    /// Only of this worker.
    pub worker: Option<Name>,
}

/// How many tasks of a job stand where.
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
    /// How many of its tasks stand where, by status; `None` where whoever asked knows.
    pub tasks: Option<Vec<(TaskStatus, u64)>>,
    /// How many devices a job that has not ended is for; `None` where that would be dear to tell.
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
    pub entries: Vec<FeedEntry>,
    /// The oldest number still kept; a caller that asked for less has missed some.
    pub oldest: u64,
}
