//! What a general knows of the tasks that nobody has taken; each file is read once.

use crate::{
    Document, Fault, Folder, Id, Place,
    file::{Priority, created_at},
};
use jiff::Timestamp;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    ops::Bound,
};

/// What goes first: by priority, then by age, then by id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    priority: Priority,
    created_at: Timestamp,
    pub(super) id: Id,
}

/// The tasks in `pending/`.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// What was read; nothing for the tasks of others.
    read: HashMap<Id, Option<Rank>>,
    /// Our own, the next one first.
    own: BTreeSet<Rank>,
}

impl Rank {
    pub(super) fn of(id: &Id, task: &Document) -> Self {
        Self { priority: Priority::of(task), created_at: created_at(task), id: id.clone() }
    }
}

impl Backlog {
    /// Reads what is new and forgets what is gone.
    pub(super) fn refresh(&mut self, folder: &Folder, general: &str) -> Result<(), Fault> {
        let ids: HashSet<Id> = folder.ids(Place::TasksPending)?.into_iter().collect();
        let gone: Vec<Id> = self.read.keys().filter(|id| !ids.contains(*id)).cloned().collect();
        gone.iter().for_each(|id| self.forget(id));
        for id in ids {
            if self.read.contains_key(&id) {
                continue;
            }
            match folder.read_or_reject(Place::TasksPending, &id) {
                Ok(Some(task)) => {
                    let rank = is_for(&task, general).then(|| Rank::of(&id, &task));
                    self.own.extend(rank.clone());
                    self.read.insert(id, rank);
                }
                Ok(None) => {}
                Err(fault) => tracing::warn!(task = %id, %fault, "a task cannot be read yet"),
            }
        }
        Ok(())
    }

    /// The next of our own, or the next after one that was looked at.
    pub(super) fn next(&self, after: Option<&Rank>) -> Option<&Rank> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.own.range((from, Bound::Unbounded)).next()
    }

    pub(super) fn rank(&self, id: &Id) -> Option<Rank> {
        self.read.get(id).cloned().flatten()
    }

    pub(super) fn forget(&mut self, id: &Id) {
        if let Some(Some(rank)) = self.read.remove(id) {
            self.own.remove(&rank);
        }
    }
}

/// Whether a task is this general's.
pub(super) fn is_for(task: &Document, general: &str) -> bool {
    task.text("target_general").as_deref() == Some(general)
}
