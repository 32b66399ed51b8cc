//! What files that are under way name, and so may not go.

use crate::{Document, Fault, Folder, Id, Place, roles::chamberlain::RESOURCES};
use std::collections::BTreeSet;

/// Ids that somebody may still look for.
///
/// A role that takes up what a crash left asks whether a file was made already: were it gone, it would be made again.
pub(super) struct Held {
    pub(super) tasks: BTreeSet<Id>,
    messages: BTreeSet<Id>,
}

impl Held {
    /// What is named by events and tasks that are under way, and by slots and alerts that are.
    pub(super) fn by(folder: &Folder) -> Result<Self, Fault> {
        let mut held = Self { tasks: BTreeSet::new(), messages: BTreeSet::new() };
        for place in [Place::TasksPending, Place::TasksInProgress] {
            held.tasks.extend(folder.listed(place)?);
        }
        for place in [Place::EventsPending, Place::EventsDispatched, Place::TasksInProgress, Place::Schedules]
        {
            for id in folder.listed(place)? {
                if let Ok(document) = folder.read(place, &id) {
                    held.hold(&document);
                }
            }
        }
        let resources = folder.bytes(&folder.path(RESOURCES)).ok();
        if let Some(Ok(resources)) = resources.map(|bytes| Document::parse(&bytes)) {
            held.hold(&resources);
        }
        Ok(held)
    }

    /// Whether a message may go: its task is over, and nobody will ask whether it was written.
    pub(super) fn lets_go_of_message(&self, folder: &Folder, place: Place, id: &Id) -> bool {
        if self.messages.contains(id) {
            return false;
        }
        if self.tasks.is_empty() {
            return true;
        }
        let message = folder.read(place, id).ok();
        let task = message.and_then(|message| message.object("context")?.text("task_id"));
        !task.and_then(|task| Id::parse(&task).ok()).is_some_and(|task| self.tasks.contains(&task))
    }

    fn hold(&mut self, document: &Document) {
        for member in ["dispatch", "plan", "messages", "closing", "alert"] {
            let Some(plan) = document.object(member) else { continue };
            for id in plan.keys().filter_map(|key| Id::parse(&plan.text(key)?).ok()) {
                if id.as_str().starts_with("task-") {
                    self.tasks.insert(id);
                } else {
                    self.messages.insert(id);
                }
            }
        }
    }
}
