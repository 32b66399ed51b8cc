//! The members of files that roles read and write, by name.

use crate::{Document, Id, document::document};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

muster_model::words! {
    /// The priority of an event or a task.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Priority {
        /// Before everything else.
        High = "high",
        /// In its turn.
        Normal = "normal",
        /// After everything else.
        Low = "low",
    }
}

impl Priority {
    /// The priority of an event or a task; schemas admit no other word.
    #[must_use]
    pub fn of(document: &Document) -> Self {
        document.text("priority").and_then(|word| Self::from_word(&word)).unwrap_or(Self::Normal)
    }
}

/// The `created_at` of a file.
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

/// A task that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    /// Its origin: an event's id, or `schedule-{name}`.
    pub event_id: String,
    /// The general.
    pub general: String,
    /// The type: the event's, `resume`, or a schedule's.
    pub kind: String,
    /// The payload, as JSON text that passes unchanged.
    pub payload: String,
    /// The priority of an event or a task.
    pub priority: Priority,
}

impl NewTask {
    /// The task as a file in `pending/`.
    #[must_use]
    pub fn document(&self, id: &Id, now: Timestamp) -> Document {
        let mut document = document! {
            "id": id, "event_id": self.event_id, "target_general": self.general, "type": self.kind,
            "payload": (), "priority": self.priority.as_str(), "created_at": stamp(now), "status": "pending",
        };
        document.set_raw("payload", self.payload.as_str());
        document
    }
}

muster_model::words! {
    /// The type of a message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MessageKind {
        /// A task began; opens its thread.
        ThreadStart = "thread_start",
        /// Something happened to a task.
        ThreadUpdate = "thread_update",
        /// A person must answer.
        HumanInputRequest = "human_input_request",
        /// A task is over.
        Notification = "notification",
        /// A matter of its own.
        Report = "report",
    }
}

muster_model::words! {
    /// The urgency of a message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Urgency {
        /// Some time.
        Normal = "normal",
        /// Soon.
        High = "high",
        /// Now.
        Urgent = "urgent",
    }
}

/// A message that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// Its type.
    pub kind: MessageKind,
    /// The channel.
    pub channel: String,
    /// The urgency of a message.
    pub urgency: Urgency,
    /// The text that people read.
    pub content: String,
    /// The context: `task_id` and more.
    pub context: Document,
}

impl NewMessage {
    /// The message as a file in `pending/`.
    #[must_use]
    pub fn document(&self, id: &Id, now: Timestamp) -> Document {
        document! {
            "id": id, "type": self.kind.as_str(), "channel": self.channel, "urgency": self.urgency.as_str(),
            "content": self.content, "context": self.context, "created_at": stamp(now), "status": "pending",
        }
    }
}

muster_model::words! {
    /// The status of a result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum OutcomeStatus {
        /// It was done.
        Success = "success",
        /// It was tried and not done.
        Failed = "failed",
        /// It was ended on its way.
        Killed = "killed",
        /// It cannot go on without an answer.
        NeedsHuman = "needs_human",
        /// There was nothing to do.
        Skipped = "skipped",
    }
}

/// A result, as far as roles read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The status.
    pub status: OutcomeStatus,
    /// The whole file.
    pub document: Document,
}

impl Outcome {
    /// Reads a result that has been held against its schema.
    #[must_use]
    pub fn of(document: Document) -> Option<Self> {
        let status = OutcomeStatus::from_word(&document.text("status")?)?;
        Some(Self { status, document })
    }
}

impl OutcomeStatus {
    /// The word in a task that ended so.
    #[must_use]
    pub const fn task_status(self) -> &'static str {
        match self {
            Self::Success => "completed",
            Self::Failed | Self::Killed => "failed",
            Self::NeedsHuman => "needs_human",
            Self::Skipped => "skipped",
        }
    }
}

/// The event of an answer that was given in a thread at a moment, both as Slack names posts.
pub(crate) fn reply_event(thread_ts: &str, ts: &str, payload: &Document) -> Document {
    let [thread, moment] = [thread_ts, ts].map(|ts| ts.replace('.', "-"));
    slack_event(&format!("evt-slack-reply-{thread}-{moment}"), "slack.thread.reply", "high", payload)
}

/// An event that people made at Slack.
pub(crate) fn slack_event(id: &str, kind: &str, priority: &str, payload: &Document) -> Document {
    document! {"id": id, "type": kind, "source": "slack", "repo": (), "payload": payload, "priority": priority}
}
