//! One general: a domain, and who works in it (C0, C16, C17, C22).

use serde::Deserialize;

/// `generals/NAME.toml`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct General {
    /// The name: that of the file.
    #[serde(skip)]
    pub name: String,
    /// The types of events it wants; each has one owner.
    #[serde(default)]
    pub subscribes: Vec<String>,
    /// The soldier: a program and its arguments; no shell reads them.
    #[serde(default)]
    pub command: Vec<String>,
    /// How many soldiers at once.
    #[serde(default = "max_soldiers")]
    pub max_soldiers: usize,
    /// How long a soldier may go without a sign of life, in seconds.
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// How often what failed is tried again.
    #[serde(default = "retries")]
    pub retries: u32,
    /// How long to wait before that, in seconds; twice as long before each further one.
    #[serde(default = "retry_after_s")]
    pub retry_after_s: f64,
    /// Who executes: a soldier here, or the coordinator's fleets.
    #[serde(default)]
    pub executor: Executor,
    /// What it does by the clock.
    #[serde(default)]
    pub schedules: Vec<Schedule>,
}

/// Who executes a task (C17).
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Executor {
    /// A program on this host.
    #[default]
    Command,
    /// A run on devices.
    Run,
    /// A session of frames.
    Session,
    /// A job of the pool.
    Job,
}

/// A task by the clock (C22).
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Its name, once per court; a valid id.
    pub name: String,
    /// Five fields.
    pub cron: String,
    /// An IANA name.
    #[serde(default = "utc")]
    pub timezone: String,
    /// The type of the task.
    pub task_type: String,
    /// What it is about.
    #[serde(default)]
    pub payload: toml::Table,
    /// What becomes of slots that passed while nobody was there.
    #[serde(default)]
    pub missed: Missed,
}

/// What becomes of slots that passed while nobody was there.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// Nothing.
    #[default]
    Skip,
    /// One task for all of them.
    Once,
}

impl General {
    /// How long one attempt may go without a sign of life, in seconds.
    #[must_use]
    pub fn limit_s(&self) -> f64 {
        let default = if self.executor == Executor::Command { SOLDIER_S } else { FLEET_S };
        self.timeout_s.unwrap_or(default)
    }
}

const fn max_soldiers() -> usize {
    3
}

const fn retries() -> u32 {
    2
}

const fn retry_after_s() -> f64 {
    60.0
}

fn utc() -> String {
    "UTC".to_owned()
}

/// Half an hour without a sign of life.
const SOLDIER_S: f64 = 1800.0;
/// The coordinator ends what hangs on its own; this is for what it cannot see.
const FLEET_S: f64 = 86_400.0;
