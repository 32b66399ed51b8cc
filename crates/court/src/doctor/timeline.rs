//! All that is known of one task, across files, in the order it happened (C21).

mod story;

use super::stamped;
use crate::{Document, Folder, Id, Kind};
use jiff::Timestamp;
use serde::Serialize;
use story::Story;

/// The story of a task, or of an event that is none yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// The task, once there is one.
    pub task_id: Option<String>,
    /// What made it: an event, or `schedule-{name}`.
    pub event_id: Option<String>,
    /// Who does it.
    pub general: Option<String>,
    /// The word of the task's `status`, or the event's.
    pub status: Option<String>,
    /// Tasks that went on with the answer to its question.
    pub resumed_by: Vec<String>,
    /// What happened, the oldest first; what has no time stands last.
    pub entries: Vec<Entry>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// When.
    #[serde(serialize_with = "stamped")]
    pub at: Option<Timestamp>,
    /// What, in one sentence.
    pub what: String,
    /// The file that tells, from the court's home.
    pub file: String,
}

/// Tells the story of a task by its id, or by its event's; nothing where no file knows the id.
#[must_use]
pub fn timeline(folder: &Folder, id: &Id) -> Option<Timeline> {
    let mut story = Story::new(folder);
    let task = match folder.find(Kind::Event, id) {
        Some(_) => {
            let event = story.event(id);
            story.event_id = Some(id.to_string());
            event.and_then(|event| planned_task(&event))
        }
        None => Some(id.clone()),
    };
    if let Some(task) = &task {
        story.task(task);
    }
    story.told()
}

/// The task that an event was made.
pub(super) fn planned_task(event: &Document) -> Option<Id> {
    Id::parse(&event.object("dispatch")?.text("task_id")?).ok()
}

#[cfg(test)]
mod tests;
