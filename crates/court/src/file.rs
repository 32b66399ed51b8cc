//! What stands in the files: the members that roles read and write, by name.

mod message;
mod outcome;
mod reply;
mod task;

pub use message::{MessageKind, NewMessage, Urgency};
pub use outcome::{Outcome, OutcomeStatus};
pub(crate) use reply::{reply_event, slack_event};
pub use task::NewTask;

use crate::Document;
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

/// What goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Before everything else.
    High,
    /// In its turn.
    Normal,
    /// When nothing else waits.
    Low,
}

impl Priority {
    /// The priority of an event or a task; schemas admit no other word.
    #[must_use]
    pub fn of(document: &Document) -> Self {
        match document.text("priority").as_deref() {
            Some("high") => Self::High,
            Some("low") => Self::Low,
            _ => Self::Normal,
        }
    }

    /// The word in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Normal => "normal",
            Self::Low => "low",
        }
    }
}

/// When a file's matter began.
#[must_use]
pub fn created_at(document: &Document) -> Timestamp {
    document.text("created_at").and_then(|text| instant(&text)).unwrap_or_default()
}

/// Reads a time; one without a zone is UTC.
#[must_use]
pub fn instant(text: &str) -> Option<Timestamp> {
    let with_zone = text.parse::<Timestamp>().ok();
    with_zone.or_else(|| {
        text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
    })
}

/// Writes a time, in UTC to the millisecond.
#[must_use]
pub fn stamp(now: Timestamp) -> String {
    format!("{now:.3}")
}
