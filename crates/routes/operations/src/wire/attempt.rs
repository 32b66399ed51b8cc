//! Attempts of a run, as a chart shows them (Q12).

use serde::Serialize;
use utoipa::ToSchema;

/// Attempts of a run's rows, oldest row first.
#[derive(Debug, Serialize, ToSchema)]
pub struct AttemptList {
    /// All attempts of this page's rows.
    pub attempts: Vec<Attempt>,
    /// Give it as `after` to see those of the next rows; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One attempt of one row.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Attempt {
    /// Its row.
    pub task_device_id: String,
    /// The row's device.
    pub device_id: String,
    /// The PC that has or last had the row.
    pub pc_id: String,
    /// Counts up from 1 within the row.
    pub attempt: u16,
    /// When it was handed out.
    pub started_at: i64,
    /// When it ended; null while it runs.
    pub ended_at: Option<i64>,
    /// `running`, `succeeded`, `failed`, `timeout` or `cancelled`.
    pub outcome: &'static str,
    /// What went wrong; null where nothing did.
    pub error: Option<String>,
}
