//! Decides: makes events tasks, and ends of tasks messages (C13–C15, C22).
//!
//! Everything the king does to one event or one task is driven by one file: what is to come (the ids of the task and of
//! the messages) is written into it first, then the files are made, and its own rename comes last. So whatever a crash
//! leaves behind is found again by that file, and doing it once more changes nothing that was done.

mod close;
mod dispatch;
mod line;
mod mend;
mod reply;
mod schedule;
mod words;

use crate::{
    Clock, Fault, Folder, Place, Wake,
    config::{ConfigError, Court},
    roles::{chamberlain, king::line::Line, king::mend::Archive, king::schedule::Timetable},
};
use jiff::Timestamp;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// The king's mind.
pub struct King {
    court: Court,
    /// Where people hear of tasks.
    channel: String,
    line: Line,
    archive: Archive,
    timetable: Timetable,
}

/// Where and when a step is done.
#[derive(Clone, Copy)]
struct Ground<'a> {
    folder: &'a Folder,
    now: Timestamp,
}

impl King {
    /// A king of a court; people hear of tasks in `channel`.
    pub fn new(court: Court, channel: String) -> Result<Self, ConfigError> {
        let timetable = Timetable::read(&court)?;
        Ok(Self { court, channel, line: Line::default(), archive: Archive::default(), timetable })
    }

    /// Takes up what an earlier king left in the middle; once, before the first step. What fails does not hold up the rest.
    pub fn begin(&mut self, folder: &Folder, now: Timestamp) -> Result<(), Fault> {
        let mended = mend::live_files(folder);
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

    /// When there will be something to do, though no file appears.
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

/// How long to wait for a moment; a little at least, so that a clock that stands still costs nothing.
fn wait_until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default().max(Duration::from_millis(10))
}

/// The role's name among locks and heartbeats.
pub const ROLE: &str = "king";
/// How long a file may lie before it is looked at, should no notice come.
const POLL: Duration = Duration::from_secs(10);
const SWEEP: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests;
