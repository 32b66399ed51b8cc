//! Messages for people (C10).

use super::stamp;
use crate::{Document, Id};
use jiff::Timestamp;

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
