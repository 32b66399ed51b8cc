//! Rows of `task_devices` and their history (Q1, Q12).

use super::JsonText;
use serde::Serialize;
use utoipa::ToSchema;

/// One unit of work on one device; its times are epoch milliseconds, or ISO 8601 texts under /rest/v1.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskDevice<T> {
    /// Its id; the same over retries.
    pub id: String,
    /// Its run.
    pub task_id: String,
    /// Its device.
    pub device_id: String,
    /// The PC that has or last had it.
    pub pc_id: String,
    /// `pending`, `running`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// Attempts made, the live one included.
    pub attempt: u16,
    /// Attempts in all.
    pub max_attempts: u16,
    /// How the last attempt failed.
    pub error: Option<String>,
    /// What its PC left.
    #[schema(value_type = JsonText, required = true)]
    pub result: Option<JsonText>,
    /// Parameters of the run.
    #[schema(value_type = JsonText, required = true)]
    pub config: Option<JsonText>,
    /// When the live lease ends.
    #[schema(inline)]
    pub lease_expires_at: Option<T>,
    /// When it came into being.
    #[schema(inline)]
    pub created_at: Option<T>,
    /// When the last attempt was handed out.
    #[schema(inline)]
    pub started_at: Option<T>,
    /// When the live attempt has taken too long.
    #[schema(inline)]
    pub timeout_at: Option<T>,
    /// When it ended.
    #[schema(inline)]
    pub completed_at: Option<T>,
}

/// Rows of one run, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskDeviceList {
    /// This page.
    pub task_devices: Vec<TaskDevice<i64>>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The rows of a claim, as PostgREST shows them.
#[derive(Debug, Serialize, ToSchema)]
pub struct ClaimedRows(pub Vec<TaskDevice<String>>);

/// What happened to one row, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct History {
    /// Its stations.
    pub history: Vec<Station>,
}

/// One station of one attempt.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Station {
    /// Of which attempt; 0 for a row that was closed before it had one.
    pub attempt_no: u16,
    /// `CREATED`, `SENT`, `ACKED`, `SUCCEEDED`, `FAILED`, `TIMEOUT`, `RETRY_SCHEDULED` or `FAILED_FINAL`.
    pub event_type: &'static str,
    /// `info`, `warn` or `error`.
    pub level: &'static str,
    /// More, for people.
    pub message: Option<String>,
    /// When, epoch milliseconds.
    pub at: i64,
}
