//! Schedules as people and scripts see them (Q17).

use super::JsonText;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A schedule that was made.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduleState {
    /// The schedule's id.
    pub schedule_id: String,
    /// Its first slot, epoch milliseconds.
    pub next_at: Option<i64>,
}

/// One schedule.
#[derive(Debug, Serialize, ToSchema)]
pub struct Schedule {
    /// The schedule's id.
    pub schedule_id: String,
    /// When: minute, hour, day of month, month, day of week.
    pub cron: String,
    /// The zone it is meant in.
    pub timezone: String,
    /// What becomes of missed slots: `skip` or `once`.
    pub missed: &'static str,
    /// What is submitted at each slot.
    pub run: ScheduledRun,
    /// The next slot, epoch milliseconds; null when none will come.
    pub next_at: Option<i64>,
    /// The latest slot that made a run.
    pub last_slot: Option<i64>,
    /// That run.
    pub last_run_id: Option<String>,
    /// When it was made.
    pub created_at: i64,
}

/// A run to be, as `POST /api/runs` takes it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduledRun {
    /// What the agents execute.
    pub workflow_id: String,
    /// Parameters of the workflow.
    pub params: JsonText,
    /// Which devices; null: all.
    pub scope: Option<Scope>,
    /// Its queue.
    pub queue: String,
    /// How long an agent may take for one device.
    #[serde(rename = "timeoutMs")]
    pub timeout_ms: Option<i64>,
    /// Attempts in all per device; null: the server's setting.
    pub max_attempts: Option<u16>,
    /// For people.
    pub title: Option<String>,
}

/// Which devices, by exactly one of three ways.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Those of these PCs.
    Pcs(Vec<String>),
    /// These.
    Devices(Vec<String>),
    /// Those with these labels.
    Labels(BTreeMap<String, String>),
}

/// Schedules, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScheduleList {
    /// This page.
    pub schedules: Vec<Schedule>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
