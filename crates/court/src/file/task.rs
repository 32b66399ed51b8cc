//! Tasks (C9).

use super::{Priority, stamp};
use crate::{Document, Id};
use jiff::Timestamp;

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
