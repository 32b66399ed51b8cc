//! Reading the files of a court's configuration, and what must hold among them.

use super::{Chamberlain, Executor, General, Schedule, Settings};
use crate::Id;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

/// All that a court is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Court {
    /// `court.toml`.
    pub settings: Settings,
    /// The generals by name.
    pub generals: BTreeMap<String, General>,
}

/// An error in the configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// There is no court.
    #[error("{} has no court.toml; `muster court init --home {}` makes a court", .0.display(), .0.display())]
    Missing(PathBuf),
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A file is not understood.
    #[error("{}: {reason}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The mistake, and the correction.
        reason: String,
    },
    /// Two generals want the same.
    #[error(
        "both {first} and {second} subscribe to {event_type}: a type has one owner; take it out of one of them"
    )]
    TwoOwners {
        /// The type.
        event_type: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Two schedules have one name.
    #[error("{first} and {second} both have a schedule called {name}; give one of them another name")]
    TwoSchedules {
        /// The name.
        name: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
}

impl Court {
    /// Reads a court's configuration. Every key is optional, and so is the file; but what is plainly another directory is
    /// not made a court.
    pub fn read(home: &Path) -> Result<Self, ConfigError> {
        let path = home.join("court.toml");
        let settings: Settings = match path.exists() {
            true => parse(&path)?,
            false if may_be_a_court(home) => Settings::default(),
            false => return Err(ConfigError::Missing(home.into())),
        };
        settings.check().map_err(|reason| ConfigError::Wrong { path, reason })?;
        let mut generals = BTreeMap::new();
        for path in general_files(home)? {
            let general = read_general(&path)?;
            generals.insert(general.name.clone(), general);
        }
        let court = Self { settings, generals };
        court.check_names()?;
        Ok(court)
    }

    /// The general that wants a type of event (C13).
    #[must_use]
    pub fn owner_of(&self, event_type: &str) -> Option<&General> {
        self.generals.values().find(|general| general.subscribes.iter().any(|wanted| wanted == event_type))
    }

    fn check_names(&self) -> Result<(), ConfigError> {
        let generals = || self.generals.values();
        let types = generals().flat_map(|general| general.subscribes.iter().map(move |name| (name, general)));
        if let Some([event_type, first, second]) = claimed_twice(types) {
            return Err(ConfigError::TwoOwners { event_type, first, second });
        }
        let schedules = generals()
            .flat_map(|general| general.schedules.iter().map(move |schedule| (&schedule.name, general)));
        match claimed_twice(schedules) {
            Some([name, first, second]) => Err(ConfigError::TwoSchedules { name, first, second }),
            None => Ok(()),
        }
    }
}

/// The first name that is claimed for the second time, and the generals that claim it.
fn claimed_twice<'a>(mut claims: impl Iterator<Item = (&'a String, &'a General)>) -> Option<[String; 3]> {
    let mut owners = BTreeMap::new();
    claims.find_map(|(name, general)| {
        let first: &String = owners.insert(name, &general.name)?;
        Some([name, first, &general.name].map(Clone::clone))
    })
}

impl Settings {
    fn check(&self) -> Result<(), String> {
        if let Some(channel) = &self.king.default_channel {
            check_channel(channel).map_err(|reason| format!("king.default_channel {reason}"))?;
        }
        positive("envoy.replies_poll_s", self.envoy.replies_poll_s)?;
        self.chamberlain.check()?;
        let sources = self.sentinel.github.iter().map(|github| ("sentinel.github.poll_s", github.poll_s));
        let sources =
            sources.chain(self.sentinel.jira.iter().map(|jira| ("sentinel.jira.poll_s", jira.poll_s)));
        let commands =
            self.sentinel.command.values().map(|command| ("sentinel.command.*.poll_s", command.poll_s));
        sources.chain(commands).try_for_each(|(name, value)| positive(name, value))?;
        for (name, command) in &self.sentinel.command {
            Id::parse(name).map_err(|error| format!("sentinel.command: {error}"))?;
            if command.command.is_empty() {
                return Err(format!("sentinel.command.{name}.command must name a program"));
            }
        }
        let retention = &self.retention;
        for (name, days) in [
            ("retention.events_days", retention.events_days),
            ("retention.tasks_days", retention.tasks_days),
            ("retention.messages_days", retention.messages_days),
            ("retention.results_days", retention.results_days),
            ("retention.rejected_days", retention.rejected_days),
        ] {
            if !(0.0..=DAYS_MAX).contains(&days) {
                return Err(format!("{name} must be between 0 and {DAYS_MAX}, not {days}"));
            }
        }
        Ok(())
    }
}

impl Chamberlain {
    fn check(&self) -> Result<(), String> {
        positive("chamberlain.every_s", self.every_s)?;
        if self.every_s > LOOK_S_MAX {
            return Err(format!(
                "chamberlain.every_s must be at most {LOOK_S_MAX}, not {}: a look that is two minutes old counts as orange",
                self.every_s
            ));
        }
        let limits = [
            ("chamberlain.yellow_percent", self.yellow_percent),
            ("chamberlain.orange_percent", self.orange_percent),
            ("chamberlain.red_percent", self.red_percent),
        ];
        for (name, percent) in limits {
            if percent.is_nan() || percent < 0.0 {
                return Err(format!("{name} must be 0 or more, not {percent}; above 100 is never"));
            }
        }
        // A colour that never comes stands in no order.
        let reached: Vec<_> = limits.into_iter().filter(|(_, percent)| *percent <= 100.0).collect();
        match reached.iter().zip(reached.iter().skip(1)).find(|((_, mild), (_, grave))| mild > grave) {
            Some(((lower, mild), (upper, grave))) => Err(format!(
                "{lower} is {mild}, and {upper} only {grave}: a graver colour cannot come first; lower the one, or raise the other (above 100 is never)"
            )),
            None => Ok(()),
        }
    }
}

/// True if a directory without a `court.toml` looks like a court, or is empty.
fn may_be_a_court(home: &Path) -> bool {
    let is_begun = ["generals", "queue"].iter().any(|name| home.join(name).is_dir());
    is_begun || fs::read_dir(home).is_ok_and(|mut entries| entries.next().is_none())
}

fn read_general(path: &Path) -> Result<General, ConfigError> {
    let wrong = |reason: String| ConfigError::Wrong { path: path.into(), reason };
    let mut general: General = parse(path)?;
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    general.name = Id::parse(name).map_err(|error| wrong(error.to_string()))?.to_string();
    check_general(&general).map_err(wrong)?;
    Ok(general)
}

fn check_general(general: &General) -> Result<(), String> {
    match (general.executor, general.command.is_empty()) {
        (Executor::Command, true) => return Err("command must name the soldier's program, as [\"program\", \"argument\"]; or set executor to run, session or job".to_owned()),
        (Executor::Run | Executor::Session | Executor::Job, false) => {
            return Err("a general with an executor has no command: the coordinator does its tasks".to_owned());
        }
        _ => {}
    }
    if !(1..=SOLDIERS_MAX).contains(&general.max_soldiers) {
        return Err(format!(
            "max_soldiers must be between 1 and {SOLDIERS_MAX}, not {}",
            general.max_soldiers
        ));
    }
    if general.retries > RETRIES_MAX {
        return Err(format!("retries must be at most {RETRIES_MAX}, not {}", general.retries));
    }
    positive("timeout_s", general.limit_s())?;
    if !(0.0..=SECONDS_MAX).contains(&general.retry_after_s) {
        return Err(format!(
            "retry_after_s must be between 0 and {SECONDS_MAX}, not {}",
            general.retry_after_s
        ));
    }
    check_subscriptions(&general.subscribes)?;
    general.schedules.iter().try_for_each(check_schedule)
}

fn check_subscriptions(subscribes: &[String]) -> Result<(), String> {
    let mut known = BTreeSet::new();
    match subscribes.iter().find(|event_type| !known.insert(*event_type)) {
        Some(twice) => Err(format!("subscribes names {twice:?} twice; take one of them out")),
        None => Ok(()),
    }
}

fn check_schedule(schedule: &Schedule) -> Result<(), String> {
    Id::parse(&format!("schedule-{}", schedule.name)).map_err(|error| format!("schedules.name: {error}"))?;
    if !(1..=WORD_CHARS_MAX).contains(&schedule.task_type.chars().count()) {
        return Err(format!("schedules.task_type must have 1 to {WORD_CHARS_MAX} characters"));
    }
    let bytes =
        toml::to_string(&schedule.payload).map_err(|error| format!("schedules.payload: {error}"))?.len();
    if bytes > PAYLOAD_BYTES_MAX {
        return Err(format!("schedules.payload has {bytes} bytes; at most {PAYLOAD_BYTES_MAX} are taken"));
    }
    Ok(())
}

/// Says what is wrong with the name of a channel.
pub fn check_channel(channel: &str) -> Result<(), String> {
    if (1..=WORD_CHARS_MAX).contains(&channel.chars().count()) {
        return Ok(());
    }
    Err(format!("must have 1 to {WORD_CHARS_MAX} characters"))
}

fn positive(name: &str, seconds: f64) -> Result<(), String> {
    if seconds > 0.0 && seconds <= SECONDS_MAX {
        return Ok(());
    }
    Err(format!("{name} must be more than 0 and at most {SECONDS_MAX}, not {seconds}"))
}

fn general_files(home: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let directory = home.join("generals");
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ConfigError::Unreadable { path: directory, error }),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    paths.sort();
    Ok(paths)
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let text =
        fs::read_to_string(path).map_err(|error| ConfigError::Unreadable { path: path.into(), error })?;
    toml::from_str(&text).map_err(|error| ConfigError::Wrong {
        path: path.into(),
        reason: error.to_string().trim_end().to_owned(),
    })
}

/// As schemas have it for types and channels.
const WORD_CHARS_MAX: usize = 200;
const PAYLOAD_BYTES_MAX: usize = 256 * 1024;
const SOLDIERS_MAX: usize = 256;
const RETRIES_MAX: u32 = 100;
/// A year.
const SECONDS_MAX: f64 = 31_536_000.0;
/// Leaves a moment before a look is too old to count.
const LOOK_S_MAX: f64 = 100.0;
/// A century.
const DAYS_MAX: f64 = 36_500.0;
