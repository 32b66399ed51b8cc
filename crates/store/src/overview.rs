//! Reads about everything at once, for whoever looks at all of it.

use crate::StoreError;
use muster_model::{JobId, LaneStatus, Name, PoolJobId, SessionId, TaskId, Timestamp, WorkerRecord};

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
    /// Where it is attached.
    pub worker: Name,
    /// Where it stands.
    pub status: LaneStatus,
    /// Whether its worker last said that it is usable.
    pub attached: bool,
    /// What runs on it.
    pub running: Option<TaskId>,
}

/// What has not ended, counted, and what has waited longest.
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

/// How many of a kind stand where.
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

/// Reads about everything at once. Every call sees one consistent state.
#[allow(clippy::missing_errors_doc, reason = "each fails when the database does, and only then")]
pub trait OverviewReader: Send + Sync {
    /// The whole fleet.
    fn fleet(&self) -> Result<FleetView, StoreError>;

    /// What has not ended.
    fn backlog(&self) -> Result<Backlog, StoreError>;
}

impl<T> Default for OpenCounts<T> {
    fn default() -> Self {
        Self { pending: 0, running: 0, paused: 0, oldest: None }
    }
}

/// No index knows which jobs of the pool wait: so many are looked at, some milliseconds' worth.
pub const POOL_JOBS_LOOKED_AT: u64 = 10_000;
