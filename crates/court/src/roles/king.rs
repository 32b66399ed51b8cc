//! Decides: makes events tasks, and ends of tasks messages (C13–C15, C22).
//!
//! Everything the king does to one event or one task is driven by one file: what is to come (the ids of the task and of
//! the messages) is written into it first, then the files are made, and its own rename comes last. So whatever a crash
//! leaves behind is found again by that file, and doing it once more changes nothing that was done.

mod close;
mod dispatch;
mod schedule;

use super::chamberlain;
use crate::{
    Clock, Document, Fault, Folder, Id, Place, Wake,
    clock::wait_until,
    config::{ConfigError, Court},
    file::Outcome,
};
use dispatch::EventQueue;
use jiff::Timestamp;
use schedule::Timetable;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The king's mind.
pub struct King {
    court: Court,
    /// The default channel.
    channel: String,
    queue: EventQueue,
    archive: Archive,
    timetable: Timetable,
}

impl King {
    /// A king of a court; people hear of tasks in `channel`.
    pub fn new(court: Court, channel: String) -> Result<Self, ConfigError> {
        let timetable = Timetable::read(&court, &channel)?;
        Ok(Self { court, channel, queue: EventQueue::default(), archive: Archive::default(), timetable })
    }

    /// Takes up what an earlier king left in the middle; once, before the first step. What fails does not hold up the rest.
    pub fn begin(&mut self, folder: &Folder, now: Timestamp) -> Result<(), Fault> {
        let mended = live_files(folder);
        let archive = Archive::of(folder).map(|archive| self.archive = archive);
        let planned = self.take_up_plans(folder, now);
        mended.and(archive).and(planned).and(self.finish_dispatched(folder, now))
    }

    /// Does what there is to do; says whether more may be there already. What fails does not hold up the rest.
    pub fn step(&mut self, folder: &Folder, now: Timestamp) -> Result<bool, Fault> {
        let closed = self.close_tasks(folder, now);
        let colour = chamberlain::obeyed_health(folder, &self.court.settings.king, now);
        let scheduled = self.keep_timetable(folder, colour, now);
        let more_events = self.deal_with_events(folder, colour, now);
        let more_archive = self.archive.mend_some(folder);
        closed.and(scheduled)?;
        Ok(more_events? || more_archive?)
    }

    /// The next deadline: something is due then even if no file appears.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.timetable.next()
    }
}

/// Runs a king until it is told to stop.
pub async fn run(folder: Arc<Folder>, mut king: King, stop: CancellationToken) {
    let places = [Place::EventsPending, Place::Results].map(|place| folder.directory(place));
    // The chamberlain reports here: a king that obeys the host's health goes on when it changes.
    let state = folder.path("state");
    let wake = Wake::on(&[&places[0], &places[1], &state], POLL);
    let mut has_begun = false;
    let mut sweeps = tokio::time::interval(SWEEP);
    while !stop.is_cancelled() {
        let now = Clock.now();
        folder.beat(ROLE, now);
        let begun = if has_begun { Ok(()) } else { king.begin(&folder, now) };
        has_begun = true;
        let limit = match begun.and(king.step(&folder, now)) {
            Ok(true) => continue,
            Ok(false) => king.next_deadline().map(|at| wait_until(at, Clock.now())),
            Err(error) => {
                tracing::warn!(%error, "the king could not finish a step; it is tried again");
                None
            }
        };
        tokio::select! {
            () = wake.wait(limit) => {}
            _ = sweeps.tick() => {
                sweep(Arc::clone(&folder));
                if let Err(error) = king.finish_dispatched(&folder, Clock.now()) {
                    tracing::warn!(%error, "an event whose task is over could not be completed");
                }
            }
            () = stop.cancelled() => {}
        }
    }
}

/// Removes what dead writers left; on a thread of its own, because there may be years of files to look at.
fn sweep(folder: Arc<Folder>) {
    tokio::task::spawn_blocking(move || {
        if let Err(error) = folder.sweep(Clock.now()) {
            tracing::warn!(%error, "what dead writers left could not be removed");
        }
    });
}

/// Mends the events that are on their way. Tasks and messages are mended by whoever consumes them: two writers could put
/// one file into two states.
fn live_files(folder: &Folder) -> Result<(), Fault> {
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

/// Completed files still to be checked, a few at a time: there may be years of them.
#[derive(Default)]
struct Archive {
    left: Vec<(Place, Id)>,
}

impl Archive {
    /// All that is over.
    fn of(folder: &Folder) -> Result<Self, Fault> {
        let mut left = Vec::new();
        for place in OVER {
            left.extend(folder.ids(place)?.into_iter().map(|id| (place, id)));
        }
        Ok(Self { left })
    }

    /// Mends a few; says whether there are more.
    fn mend_some(&mut self, folder: &Folder) -> Result<bool, Fault> {
        for (place, id) in self.left.split_off(self.left.len().saturating_sub(AT_ONCE)) {
            if let Some(document) = folder.read_or_reject(place, &id)? {
                mend(folder, place, &id, document)?;
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
    document.set("status", word);
    folder.write(place, id, &document)
}

/// True if the file was rewritten for a rename that has not happened yet.
fn is_on_its_way(place: Place, event: &Document) -> bool {
    match place {
        Place::EventsPending => dispatch::is_planned(event),
        Place::EventsDispatched => event.has("outcome"),
        _ => false,
    }
}

/// The status of a completed task, by its result.
fn ended_as(folder: &Folder, id: &Id) -> Option<&'static str> {
    let outcome = folder.read(Place::Results, id).ok().and_then(Outcome::of);
    Some(outcome.map_or("completed", |outcome| outcome.status.task_status()))
}

/// The role's name among locks and heartbeats.
pub const ROLE: &str = "king";
/// The polling interval, in case no notification arrives.
const POLL: Duration = Duration::from_secs(10);
const SWEEP: Duration = Duration::from_secs(60);
const OVER: [Place; 5] = [
    Place::EventsCompleted,
    Place::TasksCompleted,
    Place::MessagesSent,
    Place::MessagesFailed,
    Place::Results,
];
/// A few milliseconds' worth.
const AT_ONCE: usize = 64;

#[cfg(test)]
mod tests;
