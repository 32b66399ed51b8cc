//! The configuration of a court: `court.toml` and one file per general (C0).

mod read;
mod tokens;

pub use read::{ConfigError, Court, check_channel};
pub use tokens::{Tokens, bare_environment};

use serde::Deserialize;
use std::{collections::BTreeMap, time::Duration};

/// `court.toml`; what it does not name is off, or as here.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The envoy.
    pub envoy: Envoy,
    /// The sentinel.
    pub sentinel: Sentinel,
    /// The king.
    pub king: King,
    /// The chamberlain.
    pub chamberlain: Chamberlain,
    /// Retention of completed files.
    pub retention: Retention,
}

/// The outlet for messages.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Outlet {
    /// Slack's Web API.
    Slack,
    /// Any address that takes a POST.
    Webhook,
    /// Standard output.
    #[default]
    Stdout,
}

/// The envoy's section.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Envoy {
    /// The outlet for messages.
    pub to: Outlet,
    /// Slack's address, or the webhook's.
    pub base_url: Option<String>,
    /// Polling interval for replies to open questions, in seconds.
    pub replies_poll_s: f64,
    /// Address for Slack's signed events; off unless set.
    pub listen: Option<String>,
}

/// The sentinel's sections.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Sentinel {
    /// GitHub's notifications.
    pub github: Option<Github>,
    /// Jira's search.
    pub jira: Option<Jira>,
    /// Programs that print events.
    pub command: BTreeMap<String, CommandSource>,
}

/// GitHub's notifications.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Github {
    /// The API's address.
    pub base_url: String,
    /// Polling interval in seconds; GitHub may ask for a longer one.
    pub poll_s: f64,
}

/// Jira's search.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Jira {
    /// The site's address.
    pub base_url: String,
    /// The query.
    pub jql: String,
    /// Polling interval in seconds.
    #[serde(default = "source_poll_s")]
    pub poll_s: f64,
}

/// A program that prints one event as JSON per line.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CommandSource {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// Interval between runs, in seconds.
    #[serde(default = "source_poll_s")]
    pub poll_s: f64,
}

/// The king's section.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct King {
    /// The default channel; `$SLACK_DEFAULT_CHANNEL` wins.
    pub default_channel: Option<String>,
    /// Holds events back while the host is busy (C19).
    pub obey_health: bool,
}

/// The chamberlain's section; a limit above 100 is never reached.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Chamberlain {
    /// Interval between checks, in seconds.
    pub every_s: f64,
    /// Lower limit of yellow; a king that obeys begins only what is urgent.
    pub yellow_percent: f64,
    /// Lower limit of orange; a king that obeys begins nothing.
    pub orange_percent: f64,
    /// Lower limit of red; as orange, and the alert says that it is serious.
    pub red_percent: f64,
}

/// After how many days `muster court prune` removes what is over.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Events in `completed/`.
    pub events_days: f64,
    /// Tasks in `completed/`, and answered questions.
    pub tasks_days: f64,
    /// Messages in `sent/` and `failed/`.
    pub messages_days: f64,
    /// Results.
    pub results_days: f64,
    /// Rejected files.
    pub rejected_days: f64,
}

impl Default for Envoy {
    fn default() -> Self {
        Self { to: Outlet::Stdout, base_url: None, replies_poll_s: 10.0, listen: None }
    }
}

impl Default for Github {
    fn default() -> Self {
        Self { base_url: "https://api.github.com".to_owned(), poll_s: source_poll_s() }
    }
}

impl Default for Chamberlain {
    fn default() -> Self {
        Self { every_s: 30.0, yellow_percent: 60.0, orange_percent: 80.0, red_percent: 90.0 }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            events_days: 30.0,
            tasks_days: 30.0,
            messages_days: 30.0,
            results_days: 30.0,
            rejected_days: 90.0,
        }
    }
}

/// A span that was given in seconds and has been checked.
#[must_use]
pub fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

const fn source_poll_s() -> f64 {
    60.0
}

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
    /// The largest number of soldiers at once.
    #[serde(default = "max_soldiers")]
    pub max_soldiers: usize,
    /// Timeout in seconds; each heartbeat restarts it.
    #[serde(default)]
    pub timeout_s: Option<f64>,
    /// Number of retries after a failure.
    #[serde(default = "retries")]
    pub retries: u32,
    /// Pause before the first retry, in seconds; it doubles with each further one.
    #[serde(default = "retry_after_s")]
    pub retry_after_s: f64,
    /// The executor: a soldier here, or a fleet of the coordinator.
    #[serde(default)]
    pub executor: Executor,
    /// Its schedules.
    #[serde(default)]
    pub schedules: Vec<Schedule>,
}

/// The executor of a task (C17).
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
    /// Its type.
    #[serde(default)]
    pub payload: toml::Table,
    /// The policy for missed occurrences.
    #[serde(default)]
    pub missed: Missed,
}

/// The policy for missed occurrences.
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
    /// The longest time without a sign of life, in seconds.
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

#[cfg(test)]
mod tests;
