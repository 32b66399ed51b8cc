//! Who is next among the events that wait (C13).

use crate::{
    Document, Fault, Folder, Id, Place,
    file::{Priority, created_at},
    roles::chamberlain::Colour,
};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The events in `pending/`, each read once.
#[derive(Default)]
pub(super) struct Line {
    heads: BTreeMap<Id, Head>,
}

/// What decides on an event's turn; the order of the members is the order of the turns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Head {
    /// What was begun is finished first.
    is_unplanned: bool,
    priority: Priority,
    created_at: Timestamp,
    pub(super) id: Id,
    /// Somebody answered: the work it belongs to was accepted long ago (C14).
    is_reply: bool,
}

impl Line {
    /// Learns of what came, forgets what is gone.
    pub(super) fn look(&mut self, folder: &Folder) -> Result<(), Fault> {
        let ids: BTreeSet<Id> = folder.ids(Place::EventsPending)?.into_iter().collect();
        self.heads.retain(|id, _| ids.contains(id));
        for id in ids {
            if self.heads.contains_key(&id) {
                continue;
            }
            match folder.read_or_reject(Place::EventsPending, &id) {
                Ok(Some(event)) => drop(self.heads.insert(id.clone(), Head::of(id, &event))),
                Ok(None) => {}
                // One that cannot be read now must not keep the others waiting.
                Err(error) => tracing::warn!(%id, %error, "an event cannot be read"),
            }
        }
        Ok(())
    }

    /// The events whose turn it is, in order.
    pub(super) fn admitted(&self, colour: Colour) -> Vec<Id> {
        let mut heads: Vec<&Head> = self.heads.values().filter(|head| head.is_admitted(colour)).collect();
        heads.sort_unstable();
        heads.into_iter().map(|head| head.id.clone()).collect()
    }

    /// The events that an earlier king had decided on.
    pub(super) fn planned(&self) -> Vec<Id> {
        self.heads.values().filter(|head| !head.is_unplanned).map(|head| head.id.clone()).collect()
    }

    /// Lets go of an event that was dealt with.
    pub(super) fn remove(&mut self, id: &Id) {
        self.heads.remove(id);
    }
}

impl Head {
    fn of(id: Id, event: &Document) -> Self {
        let is_reply = super::reply::is_reply(event);
        let is_unplanned = !super::dispatch::is_planned(event);
        Self { is_unplanned, priority: Priority::of(event), created_at: created_at(event), id, is_reply }
    }

    /// What was begun and answers of people go on whatever the colour; the rest as the colour allows (C19).
    fn is_admitted(&self, colour: Colour) -> bool {
        !self.is_unplanned || self.is_reply || colour.accepts(self.priority)
    }
}
