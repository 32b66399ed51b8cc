//! Runs as people and scripts see them (Q15).

use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A run and where it stands.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct RunState {
    /// The run's id.
    pub run_id: String,
    /// `pending`, `running`, `success`, `failed` or `cancelled`.
    pub status: &'static str,
}

/// One run in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Run {
    /// The run's id.
    pub run_id: String,
    /// `pending`, `running`, `success`, `failed` or `cancelled`.
    pub status: &'static str,
    /// How much of it was done: `open`, `complete`, `partial`, `failed` or `cancelled` (Q7b).
    pub outcome: &'static str,
    /// For people.
    pub title: Option<String>,
    /// What the agents execute.
    pub workflow_id: String,
    /// Its queue.
    pub queue: String,
    /// Attempts in all per device.
    pub max_attempts: u16,
    /// When it was submitted, epoch milliseconds.
    pub created_at: i64,
    /// When it became active.
    pub started_at: Option<i64>,
    /// When it ended.
    pub completed_at: Option<i64>,
    /// Why it failed.
    pub error: Option<String>,
    /// The schedule that submitted it (Q17).
    pub schedule_id: Option<String>,
}

/// One run in a list, with how far it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedRun {
    /// The run itself.
    #[serde(flatten)]
    pub run: Run,
    /// How many of its devices stand where; those that have no row yet stand nowhere.
    pub counts: Counts,
    /// How many devices it is for: what its scope matches now, of a run that has ended its rows. Null where that is not
    /// known, as for labels.
    pub total: Option<u64>,
}

/// Runs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunList {
    /// This page.
    pub runs: Vec<ListedRun>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One run with its figures.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunDetail {
    /// The run itself.
    #[serde(flatten)]
    pub run: Run,
    /// How many of its devices stand where.
    pub counts: Counts,
    /// The same by PC.
    pub per_pc: BTreeMap<String, Counts>,
    /// How many devices it is for: what its scope matches now, of a run that has ended its rows. Null where that is not
    /// known, as for labels.
    pub total: Option<u64>,
    /// Devices that ended per minute, over the last five minutes or since its start.
    pub rate_per_min: f64,
    /// How long it will take at that rate; null where that cannot be known.
    pub eta_ms: Option<u64>,
}

/// How a run's devices failed, the most frequent first.
#[derive(Debug, Serialize, ToSchema)]
pub struct FailureList {
    /// All of them.
    pub failures: Vec<Failure>,
}

/// One way to fail.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Failure {
    /// The failure reason where there is one, else how the error begins.
    pub error: String,
    /// How many rows failed so.
    pub count: u64,
}

/// How many rows stand where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Counts {
    /// Waiting for another attempt.
    pub pending: u64,
    /// Leased out.
    pub running: u64,
    /// Ended well.
    pub completed: u64,
    /// Ended badly.
    pub failed: u64,
    /// Ended on request or because the device stayed away.
    pub cancelled: u64,
}

impl Counts {
    /// All rows.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.pending + self.running + self.completed + self.failed + self.cancelled
    }
}
