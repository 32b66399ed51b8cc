//! Where a file's `status` and its directory disagree, the directory is right (C3).

use crate::{Document, Fault, Folder, Id, Place, file::Outcome};

/// Mends the events that are on their way. Tasks and messages are mended by whoever consumes them: two writers could put
/// one file into two states.
pub(super) fn live_files(folder: &Folder) -> Result<(), Fault> {
    let mut done = Ok(());
    for place in [Place::EventsPending, Place::EventsDispatched] {
        for id in folder.ids(place)? {
            let found = folder.read_or_reject(place, &id);
            done = done.and(found.and_then(|found| match found {
                Some(document) => mend(folder, place, &id, document),
                None => Ok(()),
            }));
        }
    }
    done
}

/// What is over, gone through a little at a time: there may be years of it.
#[derive(Default)]
pub(super) struct Archive {
    left: Vec<(Place, Id)>,
}

impl Archive {
    /// All that is over.
    pub(super) fn of(folder: &Folder) -> Result<Self, Fault> {
        let mut left = Vec::new();
        for place in OVER {
            left.extend(folder.ids(place)?.into_iter().map(|id| (place, id)));
        }
        Ok(Self { left })
    }

    /// Mends a few; says whether there are more.
    pub(super) fn mend_some(&mut self, folder: &Folder) -> Result<bool, Fault> {
        for (place, id) in self.left.split_off(self.left.len().saturating_sub(AT_ONCE)) {
            match folder.read(place, &id) {
                Ok(document) => mend(folder, place, &id, document)?,
                Err(Fault::Gone(_)) => {}
                Err(Fault::Invalid(reason)) => folder.reject(place, id.file_name().as_ref(), &reason)?,
                Err(other) => return Err(other),
            }
        }
        Ok(!self.left.is_empty())
    }
}

fn mend(folder: &Folder, place: Place, id: &Id, mut document: Document) -> Result<(), Fault> {
    let status = document.text("status").unwrap_or_default();
    if place.statuses().is_empty()
        || place.statuses().contains(&status.as_str())
        || is_on_its_way(place, &document)
    {
        return Ok(());
    }
    let word =
        if place == Place::TasksCompleted { ended_as(folder, id) } else { place.statuses().first().copied() };
    let Some(word) = word else { return Ok(()) };
    tracing::info!(%id, place = place.path(), from = status, to = word, "a status is mended");
    document.set_text("status", word);
    folder.write(place, id, &document)
}

/// Whether the file was rewritten for a rename that has not come yet.
fn is_on_its_way(place: Place, event: &Document) -> bool {
    match place {
        Place::EventsPending => super::dispatch::is_planned(event),
        Place::EventsDispatched => event.has("outcome"),
        _ => false,
    }
}

/// How a task that is over ended, as its result tells.
fn ended_as(folder: &Folder, id: &Id) -> Option<&'static str> {
    let outcome = folder.read(Place::Results, id).ok().and_then(Outcome::of);
    Some(outcome.map_or("completed", |outcome| outcome.status.task_status()))
}

const OVER: [Place; 5] = [
    Place::EventsCompleted,
    Place::TasksCompleted,
    Place::MessagesSent,
    Place::MessagesFailed,
    Place::Results,
];
/// A few milliseconds' worth.
const AT_ONCE: usize = 64;
