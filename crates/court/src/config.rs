//! The configuration of a court: `court.toml` and one file per general (C0).

mod read;

pub use read::{ConfigError, Court, check_channel};

use serde::Deserialize;
use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fmt,
    time::Duration,
};

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
#[serde(deny_unknown_fields, default)]
pub struct General {
    /// The name: that of the file.
    #[serde(skip)]
    pub name: String,
    /// The types of events it wants; each has one owner.
    pub subscribes: Vec<String>,
    /// The soldier: a program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// The largest number of soldiers at once.
    pub max_soldiers: usize,
    /// Timeout in seconds; each heartbeat restarts it.
    pub timeout_s: Option<f64>,
    /// Number of retries after a failure.
    pub retries: u32,
    /// Pause before the first retry, in seconds; it doubles with each further one.
    pub retry_after_s: f64,
    /// The executor: a soldier here, or a fleet of the coordinator.
    pub executor: Executor,
    /// Its schedules.
    pub schedules: Vec<Schedule>,
}

impl Default for General {
    fn default() -> Self {
        Self {
            name: String::new(),
            subscribes: Vec::new(),
            command: Vec::new(),
            max_soldiers: 3,
            timeout_s: None,
            retries: 2,
            retry_after_s: 60.0,
            executor: Executor::Command,
            schedules: Vec::new(),
        }
    }
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

fn utc() -> String {
    "UTC".to_owned()
}

/// The tokens of C0; what is not set stays off.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// `SLACK_BOT_TOKEN`: posts and reads.
    pub slack_bot: Option<String>,
    /// `SLACK_SIGNING_SECRET`: proves that an event comes from Slack.
    pub slack_signing: Option<String>,
    /// `GITHUB_TOKEN`: reads notifications.
    pub github: Option<String>,
    /// `JIRA_EMAIL`: whose token it is, where the site wants to know.
    pub jira_email: Option<String>,
    /// `JIRA_API_TOKEN`: searches.
    pub jira_api: Option<String>,
}

impl Tokens {
    /// Reads the tokens; `variable` looks one up in the environment. An empty one counts as none.
    #[must_use]
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>) -> Self {
        let token = |name| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        Self {
            slack_bot: token("SLACK_BOT_TOKEN"),
            slack_signing: token("SLACK_SIGNING_SECRET"),
            github: token("GITHUB_TOKEN"),
            jira_email: token("JIRA_EMAIL"),
            jira_api: token("JIRA_API_TOKEN"),
        }
    }
}

/// Shows which are set, never what they are.
impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("SLACK_BOT_TOKEN", &self.slack_bot),
            ("SLACK_SIGNING_SECRET", &self.slack_signing),
            ("GITHUB_TOKEN", &self.github),
            ("JIRA_EMAIL", &self.jira_email),
            ("JIRA_API_TOKEN", &self.jira_api),
        ];
        let set = all.iter().filter(|(_, token)| token.is_some()).map(|(name, _)| name);
        formatter.write_str("Tokens ")?;
        formatter.debug_list().entries(set).finish()
    }
}

/// The environment of programs that a court starts: its own, without what opens doors (C16).
#[must_use]
pub fn bare_environment() -> Vec<(OsString, OsString)> {
    env::vars_os().filter(|(name, _)| !is_withheld(name)).collect()
}

fn is_withheld(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let is_ours = name.starts_with("MUSTER_") && SECRET_ENDS.iter().any(|end| name.ends_with(end));
    is_ours || WITHHELD.contains(&name.as_str())
}

/// Half an hour without a sign of life.
const SOLDIER_S: f64 = 1800.0;
/// The coordinator ends what hangs on its own; this is for what it cannot see.
const FLEET_S: f64 = 86_400.0;
const WITHHELD: [&str; 6] = [
    "SLACK_BOT_TOKEN",
    "SLACK_SIGNING_SECRET",
    "GITHUB_TOKEN",
    "JIRA_EMAIL",
    "JIRA_API_TOKEN",
    "NODE_AGENT_SHARED_SECRET",
];
/// Endings of our variables that hold secrets.
const SECRET_ENDS: [&str; 3] = ["TOKEN", "SECRET", "PASSWORD"];

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    /// A court with these files; what is said of it.
    fn read(files: &[(&str, &str)]) -> Result<Court, String> {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("generals")).unwrap();
        for (name, text) in files {
            fs::write(home.path().join(name), text).unwrap();
        }
        Court::read(home.path()).map_err(|error| error.to_string())
    }

    fn refusal(files: &[(&str, &str)]) -> String {
        read(files).expect_err("this must be refused")
    }

    /// C0: every key is optional; what is not configured is off.
    #[test]
    fn an_empty_file_is_a_court() {
        let court = read(&[("court.toml", "")]).unwrap();
        assert_eq!(court, Court::default());
        let Settings { envoy, sentinel, king, chamberlain, retention } = court.settings;
        assert_eq!((envoy.to, envoy.listen, envoy.base_url), (Outlet::Stdout, None, None));
        assert!(sentinel.github.is_none() && sentinel.jira.is_none() && sentinel.command.is_empty());
        assert_eq!((king.default_channel, king.obey_health), (None, false));
        let limits = [chamberlain.every_s, chamberlain.yellow_percent, chamberlain.orange_percent];
        assert_eq!((limits, chamberlain.red_percent), ([30.0, 60.0, 80.0], 90.0));
        assert_eq!(retention.events_days, 30.0);
    }

    /// C0, C19: the king obeys the host's health only if it is told to; a key that is nearly right is an error.
    #[test]
    fn health_is_obeyed_on_request() {
        let king = |text: &str| read(&[("court.toml", text)]).map(|court| court.settings.king.obey_health);
        assert_eq!(king("[king]"), Ok(false));
        assert_eq!(king("[king]\nobey_health = true"), Ok(true));
        for (text, named) in [("obey_healths = true", "obey_healths"), ("obey_health = 'yes'", "boolean")] {
            assert!(king(&format!("[king]\n{text}")).unwrap_err().contains(named), "{text}");
        }
    }

    /// C0, C16, C22: what a general has if its file does not say.
    #[test]
    fn a_general_needs_only_its_command() {
        let court = read(&[
            ("court.toml", ""),
            (
                "generals/gen-pr.toml",
                "subscribes = ['a.b']\ncommand = ['true']\n[[schedules]]\nname = 'n'\ncron = '* * * * *'\ntask_type = 't'",
            ),
            ("generals/notes.txt", "not a general"),
        ]);
        let court = court.unwrap();
        let general = &court.generals["gen-pr"];
        assert_eq!((general.max_soldiers, general.retries, general.retry_after_s), (3, 2, 60.0));
        assert_eq!(general.executor, Executor::Command);
        assert_eq!(
            (general.schedules[0].timezone.as_str(), general.schedules[0].missed),
            ("UTC", Missed::Skip)
        );
        assert_eq!(court.owner_of("a.b").map(|owner| owner.name.as_str()), Some("gen-pr"));
        assert_eq!(court.owner_of("a"), None);
    }

    /// C0: without `court.toml` there is no court, and the way to one is told.
    #[test]
    fn no_court_is_told_how_to_make_one() {
        let refusal = Court::read(Path::new("/nowhere/court")).unwrap_err().to_string();
        assert!(refusal.contains("muster court init --home /nowhere/court"), "{refusal}");
    }

    /// C0: a key that nobody knows, a word or type that is none: the file and the key are named.
    #[test]
    fn what_is_not_understood_is_named() {
        for (text, words) in [
            ("[chamberlain]\nevry_s = 3", ["evry_s", "every_s"]),
            ("[chamber]\n", ["chamber", "chamberlain"]),
            ("[envoy]\nto = 'mail'", ["mail", "slack"]),
            ("[envoy]\ntoken = 'xoxb'", ["token", "base_url"]),
            ("[sentinel.jira]\nbase_url = 'http://a'", ["jql", "sentinel.jira"]),
            ("[retention]\nevents_days = 'x'", ["events_days", "string"]),
            ("[king\n", ["line 1", "king"]),
        ] {
            let refusal = refusal(&[("court.toml", text)]);
            assert!(refusal.contains("court.toml: "), "{refusal}");
            assert!(words.iter().all(|word| refusal.contains(word)), "{refusal}");
        }
        let refusal = refusal(&[("court.toml", ""), ("generals/a.toml", "command = ['x']\nretry = 3")]);
        assert!(refusal.contains("generals/a.toml: ") && refusal.contains("retry_after_s"), "{refusal}");
    }

    /// C0, C19: numbers that cannot be meant are refused by name.
    #[test]
    fn wrong_numbers_are_named() {
        for (text, key) in [
            ("[envoy]\nreplies_poll_s = 0", "envoy.replies_poll_s"),
            ("[envoy]\nreplies_poll_s = nan", "envoy.replies_poll_s"),
            ("[chamberlain]\nevery_s = -1", "chamberlain.every_s"),
            ("[chamberlain]\nevery_s = 300", "chamberlain.every_s"),
            ("[chamberlain]\nred_percent = -5", "chamberlain.red_percent"),
            ("[chamberlain]\nyellow_percent = nan", "chamberlain.yellow_percent"),
            (
                "[chamberlain]\nyellow_percent = 85",
                "chamberlain.yellow_percent is 85, and chamberlain.orange_percent",
            ),
            ("[chamberlain]\nred_percent = 70", "chamberlain.red_percent only 70"),
            ("[chamberlain]\nyellow_percent = 95\norange_percent = 101", "chamberlain.red_percent only 90"),
            ("[sentinel.github]\npoll_s = 0", "sentinel.github.poll_s"),
            ("[sentinel.command.a]\ncommand = []", "sentinel.command.a.command"),
            ("[sentinel.command.\"../a\"]\ncommand = ['x']", "../a"),
            ("[retention]\nrejected_days = -1", "retention.rejected_days"),
        ] {
            let refusal = refusal(&[("court.toml", text)]);
            assert!(refusal.contains("court.toml: ") && refusal.contains(key), "{refusal}");
        }
        for (text, key) in [
            ("subscribes = ['a']", "command"),
            ("command = ['x']\nexecutor = 'job'", "command"),
            ("command = ['x']\nmax_soldiers = 0", "max_soldiers"),
            ("command = ['x']\nretries = 1000", "retries"),
            ("command = ['x']\ntimeout_s = 0", "timeout_s"),
            ("command = ['x']\nretry_after_s = -1", "retry_after_s"),
            ("command = ['x']\nsubscribes = ['a.b', 'c', 'a.b']", "subscribes names \"a.b\" twice"),
            (
                "command = ['x']\n[[schedules]]\nname = 'a/b'\ncron = '* * * * *'\ntask_type = 't'",
                "schedules.name",
            ),
        ] {
            let refusal = refusal(&[("court.toml", ""), ("generals/a.toml", text)]);
            assert!(refusal.contains("generals/a.toml: ") && refusal.contains(key), "{refusal}");
        }
        for limits in
            ["yellow_percent = 101\norange_percent = inf", "yellow_percent = 80", "yellow_percent = 101"]
        {
            assert!(read(&[("court.toml", &format!("[chamberlain]\n{limits}"))]).is_ok(), "{limits}");
        }
    }

    /// C0, C13: one owner per type; both are named. Schedules have one name per court.
    #[test]
    fn two_owners_are_refused() {
        let owner = "subscribes = ['a.b', 'a.c']\ncommand = ['x']";
        assert!(read(&[("court.toml", ""), ("generals/one.toml", owner)]).is_ok());
        let refused =
            refusal(&[("court.toml", ""), ("generals/one.toml", owner), ("generals/two.toml", owner)]);
        assert!(["one", "two", "a.b"].iter().all(|word| refused.contains(word)), "{refused}");

        let clock = "command = ['x']\n[[schedules]]\nname = 'morning'\ncron = '0 9 * * *'\ntask_type = 't'";
        let refused =
            refusal(&[("court.toml", ""), ("generals/one.toml", clock), ("generals/two.toml", clock)]);
        assert!(["one", "two", "morning"].iter().all(|word| refused.contains(word)), "{refused}");
    }

    /// C0, C23: a general's name is its file's, and cannot lead elsewhere.
    #[test]
    fn a_generals_name_is_an_id() {
        let refused = refusal(&[("court.toml", ""), ("generals/-rf x.toml", "command = ['x']")]);
        assert!(refused.contains("-rf x.toml"), "{refused}");
    }

    /// C0: every key is optional, and so is the file; but another directory is not made a court by a slip.
    #[test]
    fn a_court_may_have_no_file() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Court::read(home.path()).unwrap(), Court::default());
        std::fs::write(home.path().join("thesis.tex"), "").unwrap();
        let refused = Court::read(home.path()).unwrap_err().to_string();
        assert!(refused.contains("muster court init"), "{refused}");
        assert!(Court::read(&home.path().join("nowhere")).is_err());
        std::fs::create_dir(home.path().join("generals")).unwrap();
        assert_eq!(Court::read(home.path()).unwrap(), Court::default());
    }

    /// C0: tokens come from their variables; one that is empty is none, and none is ever shown.
    #[test]
    fn tokens_come_from_the_environment_and_stay_unseen() {
        let tokens = Tokens::from_environment(|name| match name {
            "JIRA_EMAIL" => Some("  ".to_owned()),
            "SLACK_BOT_TOKEN" => None,
            name => Some(format!("hidden-{name}\n")),
        });
        assert_eq!(tokens.github.as_deref(), Some("hidden-GITHUB_TOKEN"));
        assert_eq!(tokens.jira_api.as_deref(), Some("hidden-JIRA_API_TOKEN"));
        assert_eq!(tokens.slack_signing.as_deref(), Some("hidden-SLACK_SIGNING_SECRET"));
        assert_eq!((&tokens.jira_email, &tokens.slack_bot), (&None, &None));
        let shown = format!("{tokens:?}");
        assert_eq!(shown, r#"Tokens ["SLACK_SIGNING_SECRET", "GITHUB_TOKEN", "JIRA_API_TOKEN"]"#);
    }

    /// C16: programs get none of the tokens of C0, nor what opens the coordinator.
    #[test]
    fn programs_get_no_tokens() {
        for name in [
            "SLACK_BOT_TOKEN",
            "SLACK_SIGNING_SECRET",
            "GITHUB_TOKEN",
            "JIRA_EMAIL",
            "JIRA_API_TOKEN",
            "MUSTER_TOKEN",
            "MUSTER_ADMIN_TOKEN",
            "MUSTER_ENROL_SECRET",
            "MUSTER_PASSWORD",
            "NODE_AGENT_SHARED_SECRET",
        ] {
            assert!(is_withheld(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "HOME", "MUSTER_SERVER", "MUSTER_TASK_ID", "SLACK_DEFAULT_CHANNEL"] {
            assert!(!is_withheld(OsStr::new(name)), "{name}");
        }
        assert!(bare_environment().iter().any(|(name, _)| name == "PATH"));
    }
}
