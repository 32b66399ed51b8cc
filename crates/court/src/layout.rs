//! Names and directories of files: a name can never leave its directory (C8, C23), and the directory is the state (C1, C2).

use serde::Serialize;
use std::{ffi::OsStr, fmt};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Something happened outside.
    Event,
    /// Something is to be done.
    Task,
    /// Something is to be said.
    Message,
    /// The result of a task.
    Result,
    /// A record of our own: no schema, no state.
    Record,
}

/// A directory of the court.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Events that the king has not dealt with.
    EventsPending,
    /// Events that were made a task.
    EventsDispatched,
    /// Events that are over.
    EventsCompleted,
    /// Tasks that no general has taken.
    TasksPending,
    /// Tasks that a general has.
    TasksInProgress,
    /// Tasks that are over.
    TasksCompleted,
    /// Messages that are to be posted.
    MessagesPending,
    /// Messages that were posted.
    MessagesSent,
    /// Messages that could not be posted.
    MessagesFailed,
    /// Results of tasks.
    Results,
    /// Questions that nobody has answered.
    QuestionsOpen,
    /// Questions that were answered.
    QuestionsAnswered,
    /// In which thread people hear of a task.
    Threads,
    /// The state of each schedule.
    Schedules,
    /// The read position of each source.
    Sources,
}

impl Kind {
    /// The directories a file of this kind may lie in, in the order it goes through them.
    #[must_use]
    pub const fn places(self) -> &'static [Place] {
        match self {
            Self::Event => &[Place::EventsPending, Place::EventsDispatched, Place::EventsCompleted],
            Self::Task => &[Place::TasksPending, Place::TasksInProgress, Place::TasksCompleted],
            Self::Message => &[Place::MessagesPending, Place::MessagesSent, Place::MessagesFailed],
            Self::Result => &[Place::Results],
            Self::Record => &[
                Place::QuestionsOpen,
                Place::QuestionsAnswered,
                Place::Threads,
                Place::Schedules,
                Place::Sources,
            ],
        }
    }

    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Event, Self::Task, Self::Message, Self::Result, Self::Record];
}

impl Place {
    /// The directory, from the court's home.
    #[must_use]
    pub const fn path(self) -> &'static str {
        self.description().0
    }

    /// The kind of files in it.
    #[must_use]
    pub const fn kind(self) -> Kind {
        self.description().1
    }

    /// The words that `status` may have here; none where files have no status (C3).
    #[must_use]
    pub const fn statuses(self) -> &'static [&'static str] {
        self.description().2
    }

    /// All directories that hold files with ids.
    pub fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().flat_map(|kind| kind.places().iter().copied())
    }

    /// Path, kind and statuses.
    const fn description(self) -> (&'static str, Kind, &'static [&'static str]) {
        match self {
            Self::EventsPending => ("queue/events/pending", Kind::Event, &["pending"]),
            Self::EventsDispatched => ("queue/events/dispatched", Kind::Event, &["dispatched"]),
            Self::EventsCompleted => ("queue/events/completed", Kind::Event, &["completed", "failed"]),
            Self::TasksPending => ("queue/tasks/pending", Kind::Task, &["pending"]),
            Self::TasksInProgress => ("queue/tasks/in_progress", Kind::Task, &["in_progress"]),
            Self::TasksCompleted => {
                ("queue/tasks/completed", Kind::Task, &["completed", "failed", "needs_human", "skipped"])
            }
            Self::MessagesPending => ("queue/messages/pending", Kind::Message, &["pending"]),
            Self::MessagesSent => ("queue/messages/sent", Kind::Message, &["sent"]),
            Self::MessagesFailed => ("queue/messages/failed", Kind::Message, &["failed"]),
            Self::Results => ("state/results", Kind::Result, &[]),
            Self::QuestionsOpen => ("state/questions/open", Kind::Record, &[]),
            Self::QuestionsAnswered => ("state/questions/answered", Kind::Record, &[]),
            Self::Threads => ("state/threads", Kind::Record, &[]),
            Self::Schedules => ("state/schedules", Kind::Record, &[]),
            Self::Sources => ("state/sources", Kind::Record, &[]),
        }
    }
}

/// The id of an event, a task, a message or a result: also the name of its file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Id(String);

/// The reason why a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no id: it must begin with a letter or digit, and have up to 200 letters, digits and . _ : + -"
)]
pub struct IdError(String);

impl Id {
    /// Reads an id.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if is_id(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError(text.chars().take(SHOWN_MAX).collect()))
        }
    }

    /// Reads the name of a file, `{id}.json`.
    #[must_use]
    pub fn of_file(name: &OsStr) -> Option<Self> {
        Self::parse(name.to_str()?.strip_suffix(".json")?).ok()
    }

    /// The name of the file that holds what has this id.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.json", self.0)
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn is_id(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._:+-".contains(&byte);
    text.len() <= LENGTH_MAX
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && text.bytes().all(is_inner)
}

/// Refused files, each beside the reason.
pub(crate) const REJECTED: &str = "rejected";
/// Signs of life, one file per role.
pub(crate) const HEARTBEATS: &str = "state/heartbeats";
/// One directory per task that runs, with one per attempt in it.
pub(crate) const ATTEMPTS: &str = "state/attempts";
/// Locks of the roles.
pub(crate) const LOCKS: &str = "state/locks";
/// The last numbers given out.
pub(crate) const SEQUENCES: &str = "state/sequences";
/// The directories without ids.
pub(crate) const OTHERS: [&str; 5] = [REJECTED, HEARTBEATS, ATTEMPTS, LOCKS, SEQUENCES];
const LENGTH_MAX: usize = 200;
const SHOWN_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// C1, C2: the layout of the source, by name.
    #[test]
    fn the_directories_are_those_of_the_contract() {
        let paths: BTreeSet<&str> = Place::all().map(Place::path).collect();
        for path in [
            "queue/events/pending",
            "queue/events/dispatched",
            "queue/events/completed",
            "queue/tasks/pending",
            "queue/tasks/in_progress",
            "queue/tasks/completed",
            "queue/messages/pending",
            "queue/messages/sent",
            "queue/messages/failed",
            "state/results",
        ] {
            assert!(paths.contains(path), "{path}");
        }
        assert!(!paths.contains("queue/tasks/failed") && !paths.contains("queue/events/failed"));
        assert_eq!(paths.len(), Place::all().count());
    }

    /// C8, C23: the examples of the source are ids; nothing that could leave a directory is one.
    #[test]
    fn only_names_that_stay_where_they_are() {
        let longest = "a".repeat(LENGTH_MAX);
        for good in [
            "evt-github-12345678-2026-02-07T10:00:00Z",
            "evt-jira-QP-123-20260207100000",
            "evt-slack-reply-1234-5678-1707300000",
            "a+b_c.d",
            &longest,
        ] {
            assert_eq!(Id::of_file(OsStr::new(&format!("{good}.json"))), Some(Id(good.to_owned())));
        }
        let too_long = "a".repeat(LENGTH_MAX + 1);
        for bad in
            ["", ".", "..", "../a", "a/b", ".hidden", "-rf", "a b", "a\nb", "a\0", "é", "$(x)", &too_long]
        {
            assert!(Id::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(Id::of_file(OsStr::new("a.txt")), None);
        assert_eq!(Id::of_file(OsStr::new(".json")), None);
    }
}
