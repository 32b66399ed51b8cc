//! What stands in the files: the members that roles read and write, by name.

use crate::{Document, Id};
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

/// A task that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    /// What made it: an event's id, or `schedule-{name}`.
    pub event_id: String,
    /// Who does it.
    pub general: String,
    /// What is to be done: the event's type, `resume`, or a schedule's.
    pub kind: String,
    /// What it is about, as JSON text that passes unchanged.
    pub payload: String,
    /// What goes first.
    pub priority: Priority,
}

impl NewTask {
    /// The task as a file in `pending/`.
    #[must_use]
    pub fn document(&self, id: &Id, now: Timestamp) -> Document {
        let mut document = Document::new();
        document
            .set_text("id", id.as_str())
            .set_text("event_id", &self.event_id)
            .set_text("target_general", &self.general)
            .set_text("type", &self.kind)
            .set_raw("payload", self.payload.as_str())
            .set_text("priority", self.priority.word())
            .set_text("created_at", &stamp(now))
            .set_text("status", "pending");
        document
    }
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// A task began; opens its thread.
    ThreadStart,
    /// Something happened to a task.
    ThreadUpdate,
    /// Somebody must answer.
    HumanInputRequest,
    /// A task is over.
    Notification,
    /// A matter of its own.
    Report,
}

/// How soon somebody should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Some time.
    Normal,
    /// Soon.
    High,
    /// Now.
    Urgent,
}

/// A message that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// What it is about.
    pub kind: MessageKind,
    /// Where it goes.
    pub channel: String,
    /// How soon somebody should look.
    pub urgency: Urgency,
    /// What people read.
    pub content: String,
    /// What it belongs to: `task_id` and more.
    pub context: Document,
}

impl NewMessage {
    /// The message as a file in `pending/`.
    #[must_use]
    pub fn document(&self, id: &Id, now: Timestamp) -> Document {
        let mut document = Document::new();
        document
            .set_text("id", id.as_str())
            .set_text("type", self.kind.word())
            .set_text("channel", &self.channel)
            .set_text("urgency", self.urgency.word())
            .set_text("content", &self.content)
            .set_object("context", &self.context)
            .set_text("created_at", &stamp(now))
            .set_text("status", "pending");
        document
    }
}

impl MessageKind {
    /// The word in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::ThreadStart => "thread_start",
            Self::ThreadUpdate => "thread_update",
            Self::HumanInputRequest => "human_input_request",
            Self::Notification => "notification",
            Self::Report => "report",
        }
    }
}

impl Urgency {
    /// The word in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }
}

/// The word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeStatus {
    /// It was done.
    Success,
    /// It was tried and not done.
    Failed,
    /// It was ended on its way.
    Killed,
    /// It cannot go on without an answer.
    NeedsHuman,
    /// There was nothing to do.
    Skipped,
}

/// A result, as far as roles read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub status: OutcomeStatus,
    /// The whole file.
    pub document: Document,
}

impl Outcome {
    /// Reads a result that has been held against its schema.
    #[must_use]
    pub fn of(document: Document) -> Option<Self> {
        let status = OutcomeStatus::of(&document.text("status")?)?;
        Some(Self { status, document })
    }
}

impl OutcomeStatus {
    /// Reads the word in files.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let all = [Self::Success, Self::Failed, Self::Killed, Self::NeedsHuman, Self::Skipped];
        all.into_iter().find(|status| status.word() == word)
    }

    /// The word in results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::NeedsHuman => "needs_human",
            Self::Skipped => "skipped",
        }
    }

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
    slack_event(&format!("evt-slack-reply-{thread}-{moment}"), ("slack.thread.reply", "high"), payload)
}

/// An event that people made at Slack.
pub(crate) fn slack_event(id: &str, (kind, priority): (&str, &str), payload: &Document) -> Document {
    let mut event = Document::new();
    event
        .set_text("id", id)
        .set_text("type", kind)
        .set_text("source", "slack")
        .set_raw("repo", "null")
        .set_object("payload", payload)
        .set_text("priority", priority);
    event
}
