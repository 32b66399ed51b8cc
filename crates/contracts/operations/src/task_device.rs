//! Rows of `task_devices` and their history (Q1, Q12).

use muster_model::{LogRecord, TaskRecord, Timestamp};
use muster_problem::{JsonText, WireMutant, planted};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// One unit of work on one device; its times are epoch milliseconds, or ISO 8601 texts under /rest/v1.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
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
    pub status: Cow<'static, str>,
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

/// The rows of a claim, as PostgREST shows them.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ClaimedRows(pub Vec<TaskDevice<String>>);

/// What happened to one row, oldest first.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// Its stations.
    pub history: Vec<Station>,
}

/// One station of one attempt.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Station {
    /// Of which attempt; 0 for a row that was closed before it had one.
    pub attempt_no: u16,
    /// `CREATED`, `SENT`, `ACKED`, `SUCCEEDED`, `FAILED`, `TIMEOUT`, `RETRY_SCHEDULED` or `FAILED_FINAL`.
    pub event_type: Cow<'static, str>,
    /// `info`, `warn` or `error`.
    pub level: Cow<'static, str>,
    /// More, for people.
    pub message: Option<String>,
    /// When, epoch milliseconds.
    pub at: i64,
}

/// A row with times as epoch milliseconds; `config` are the run's parameters.
///
/// # Errors
/// When the row's result is not JSON, which only a damaged store can bring about.
pub fn show_task(task: TaskRecord, config: Option<JsonText>) -> Result<TaskDevice<i64>, serde_json::Error> {
    show(task, config, |at| Some(at.0))
}

/// A row as PostgREST shows it.
///
/// # Errors
/// As [`show_task`].
pub fn show_task_row(
    task: TaskRecord,
    config: Option<JsonText>,
) -> Result<TaskDevice<String>, serde_json::Error> {
    show(task, config, iso)
}

fn show<T>(
    task: TaskRecord,
    config: Option<JsonText>,
    time: impl Fn(Timestamp) -> Option<T>,
) -> Result<TaskDevice<T>, serde_json::Error> {
    Ok(TaskDevice {
        id: task.id.to_string(),
        task_id: task.id.job.to_string(),
        device_id: task.lane.to_string(),
        pc_id: task.worker.to_string(),
        status: task.status.as_str().into(),
        attempt: task.attempt,
        max_attempts: task.max_attempts,
        error: task.error.map(Into::into),
        result: task.result.as_deref().map(JsonText::new).transpose()?,
        config,
        lease_expires_at: task.lease_until.filter(|_| !planted(WireMutant::LeaseEndLeftOut)).and_then(&time),
        created_at: time(task.created_at),
        started_at: task.started_at.and_then(&time),
        timeout_at: task.timeout_at.and_then(&time),
        completed_at: task.completed_at.and_then(&time),
    })
}

/// One station of a row's history.
#[must_use]
pub fn show_station(entry: LogRecord) -> Station {
    Station {
        attempt_no: entry.attempt,
        event_type: entry.kind.as_str().into(),
        level: entry.kind.level().into(),
        message: entry.message.map(Into::into),
        at: entry.at.0,
    }
}

/// The form in which PostgreSQL writes a `timestamptz` into JSON.
fn iso(at: Timestamp) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(at.0).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%S%.f+00:00").to_string())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::golden;
    use muster_model::{Fence, JobId, LeaseKind, LogKind, Name, TaskId, TaskStatus};
    use serde_json::json;

    pub(crate) fn row() -> TaskRecord {
        let job = JobId(0x0199_0000_0000_7000_8000_0000_0000_0001);
        TaskRecord {
            id: TaskId { job, ordinal: 1 },
            worker: Name::new("PC-01").unwrap(),
            lane: Name::new("d1").unwrap(),
            status: TaskStatus::Running,
            attempt: 2,
            max_attempts: 3,
            error: Some("adb_offline".into()),
            result: Some(r#"{"z":1.10}"#.into()),
            fence: Fence(0xdead_beef),
            lease: LeaseKind::Claim,
            lease_until: Some(Timestamp(1_760_000_300_000)),
            created_at: Timestamp(1_760_000_000_123),
            started_at: Some(Timestamp(1_760_000_000_120)),
            confirmed_at: None,
            timeout_at: None,
            completed_at: None,
            timed_out: false,
            logs: 2,
        }
    }

    /// Q1: a row has the contract's columns and nothing that proves a lease.
    #[test]
    fn a_row_has_the_contracts_columns() {
        let config = JsonText::new(r#"{"big":123456789012345678901234567890}"#).unwrap();
        let text = serde_json::to_string(&show_task(row(), Some(config)).unwrap()).unwrap();
        assert!(
            text.contains(r#""result":{"z":1.10},"config":{"big":123456789012345678901234567890}"#),
            "{text}"
        );
        assert!(!text.contains("deadbeef"));
        let read: TaskDevice<i64> = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text, "a client reads it letter by letter");
        let shown: serde_json::Value = serde_json::from_str(&text).unwrap();
        let keys: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        for key in [
            "id",
            "task_id",
            "pc_id",
            "device_id",
            "status",
            "attempt",
            "max_attempts",
            "error",
            "result",
            "config",
            "lease_expires_at",
            "created_at",
            "started_at",
            "timeout_at",
            "completed_at",
        ] {
            assert!(keys.contains(&key), "{key}");
        }
        assert_eq!(shown["task_id"], "01990000-0000-7000-8000-000000000001");
        assert_eq!(
            (&shown["lease_expires_at"], &shown["timeout_at"]),
            (&json!(1_760_000_300_000_i64), &json!(null))
        );
    }

    /// Q14: times look as PostgREST writes them.
    #[test]
    fn a_row_of_an_rpc_has_iso_times() {
        let shown = serde_json::to_value(show_task_row(row(), None).unwrap()).unwrap();
        assert_eq!(shown["lease_expires_at"], "2025-10-09T08:58:20+00:00");
        assert_eq!(shown["created_at"], "2025-10-09T08:53:20.123+00:00");
        assert_eq!(shown["started_at"], "2025-10-09T08:53:20.12+00:00");
    }

    /// Q12: a station names its attempt, its kind and its level.
    #[test]
    fn a_station_is_shown() {
        let entry = LogRecord {
            task: row().id,
            seq: 1,
            attempt: 1,
            kind: LogKind::Timeout,
            message: Some("m".into()),
            at: Timestamp(4),
        };
        let expected =
            json!({"attempt_no": 1, "event_type": "TIMEOUT", "level": "error", "message": "m", "at": 4});
        golden::check(&show_station(entry), &expected);
    }
}
