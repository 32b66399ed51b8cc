//! All in all (S6, S7).

use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The state of the whole (S7).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `ok`, or `paused` between `PauseAll` and `ResumeAll`.
    pub status: &'static str,
    /// The epoch.
    pub epoch: u64,
    /// Advertised URL of the leading server.
    pub leader: String,
    /// Open sessions by status.
    pub sessions: BTreeMap<&'static str, u64>,
    /// Workers by state.
    pub workers: BTreeMap<&'static str, u64>,
    /// The largest maxQueueRatio of all workers' latest progress.
    pub queue_depth_summary: f64,
    /// What somebody should look at.
    pub warnings: Vec<Warning>,
}

/// Something that somebody should look at (S17).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// What kind.
    #[schema(example = "chunkIntegrity")]
    pub code: &'static str,
    /// What people read.
    pub message: String,
    /// The worker it is about.
    pub worker_id: String,
    /// When, epoch milliseconds.
    pub at: i64,
}

/// The answer to a broadcast (S6).
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Broadcasted {
    /// What was said.
    pub command: &'static str,
    /// Whether no task is given out from now on.
    pub paused: bool,
}
