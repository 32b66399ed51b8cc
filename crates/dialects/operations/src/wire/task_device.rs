//! Rows of `task_devices` and their history (Q1, Q12).

use super::JsonText;
use serde::Serialize;
use utoipa::ToSchema;

/// One unit of work on one device; times are epoch milliseconds.
pub type TaskDevice = TaskDeviceOf<i64>;

/// One unit of work on one device, as PostgREST shows it: times are ISO 8601.
pub type TaskDeviceRow = TaskDeviceOf<String>;

/// One unit of work on one device, with times in the form `T`.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskDeviceOf<T> {
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
    pub result: Option<JsonText>,
    /// Parameters of the run.
    pub config: Option<JsonText>,
    /// When the live lease ends.
    pub lease_expires_at: Option<T>,
    /// When it came into being.
    pub created_at: Option<T>,
    /// When the last attempt was handed out.
    pub started_at: Option<T>,
    /// When the live attempt has taken too long.
    pub timeout_at: Option<T>,
    /// When it ended.
    pub completed_at: Option<T>,
}

/// Rows of one run, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskDeviceList {
    /// This page.
    pub task_devices: Vec<TaskDevice>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What happened to one row, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct History {
    /// Its stations.
    pub history: Vec<Station>,
}

/// One station of one attempt.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Station {
    /// Of which attempt; 0 before the first.
    pub attempt_no: u16,
    /// `CREATED`, `SENT`, `ACKED`, `SUCCEEDED`, `FAILED`, `TIMEOUT`, `RETRY_SCHEDULED`, `FAILED_FINAL` or `CANCELLED`.
    pub event_type: &'static str,
    /// `info`, `warn` or `error`.
    pub level: &'static str,
    /// More, for people.
    pub message: Option<String>,
    /// When, epoch milliseconds.
    pub at: i64,
}
