//! Events in the life of a device.

use crate::devices::rule::contest;
use crate::devices::state::{Lane, LaneIx, Rows, State, Timer, WorkerIx};
use alloc::boxed::Box;
use muster_model::{Attachment, DeviceReport, Event, Name, Timestamp};

impl State {
    pub(super) fn apply_to_lane(&mut self, event: &Event) {
        match event {
            Event::LaneAttached { worker, report, at } => self.attach(worker, report, *at),
            Event::LaneReported { lane, handle, attachment, at } => {
                let Some(ix) = self.lanes.ix(lane) else { return };
                self.lanes[ix].handle = handle.clone();
                self.lanes[ix].attachment = *attachment;
                let usable = *attachment == Attachment::Online && self.workers[self.lanes[ix].worker].online;
                self.note_drop(ix, usable, *at);
                self.set_usable(ix, usable, *at);
            }
            Event::LaneGraceOver { lane } => {
                let Some(ix) = self.lanes.ix(lane) else { return };
                self.long_away.insert(ix);
                self.dirty.check_skips.insert(ix);
            }
            Event::LaneFailed { lane, .. } if !self.has_bug(crate::Mutant::FailedLaneStaysEligible) => {
                self.with_lane(lane, |lane| lane.failed = true);
                if let Some(ix) = self.lanes.ix(lane) {
                    self.dirty.check_skips.insert(ix);
                }
            }
            Event::LaneReturned { lane, note, .. } => {
                self.with_lane(lane, |lane| {
                    lane.failed = false;
                    lane.note.clone_from(note);
                });
            }
            Event::LaneLabelled { lane, labels, .. } => {
                let labels = (!labels.is_empty()).then(|| Box::new(labels.clone()));
                self.with_lane(lane, |lane| lane.labels = labels);
            }
            _ => {}
        }
    }

    /// Makes a lane usable or not, and everything that hangs on it.
    pub(super) fn set_usable(&mut self, ix: LaneIx, usable: bool, at: Timestamp) {
        self.dirty.lanes.insert(ix);
        let since = self.lanes[ix].offline_since;
        if usable == since.is_none() {
            return;
        }
        self.change_lane(ix, |lane| lane.offline_since = (!usable).then_some(at));
        match since {
            Some(since) => {
                self.timers.clear(since + self.settings.offline_grace, Timer::Lane(ix));
                self.long_away.remove(&ix);
            }
            None => self.timers.set(at + self.settings.offline_grace, Timer::Lane(ix)),
        }
    }

    fn with_lane(&mut self, name: &Name, change: impl FnOnce(&mut Lane)) {
        let Some(ix) = self.lanes.ix(name) else { return };
        self.remake_lane(ix, change);
        self.dirty.lanes.insert(ix);
    }

    fn attach(&mut self, worker: &Name, report: &DeviceReport, at: Timestamp) {
        let Some(worker) = self.workers.ix(worker) else {
            return;
        };
        let usable = report.attachment == Attachment::Online && self.workers[worker].online;
        let ix = match self.lanes.ix(&report.device) {
            Some(ix) => {
                self.note_taken(ix, worker, at);
                self.remake_lane(ix, |lane| lane.worker = worker);
                ix
            }
            None => self.enrol(worker, report, at),
        };
        self.lanes[ix].handle = report.handle.clone();
        self.lanes[ix].attachment = report.attachment;
        self.set_usable(ix, usable, at);
    }

    /// Keeps in mind whom a worker takes a lane from, so that it shows when that one takes it back (N1b).
    fn note_taken(&mut self, ix: LaneIx, worker: WorkerIx, at: Timestamp) {
        if let Some(contest) = contest::shown(self, ix, worker, at) {
            self.workers[worker].contest = Some(contest);
            self.dirty.check_contests.insert(worker);
        }
        self.lanes[ix].taken = contest::loser(self, ix).map(|loser| Box::new((loser, at)));
    }

    /// A lane begins unusable; whoever enrols it says the rest.
    fn enrol(&mut self, worker: WorkerIx, report: &DeviceReport, at: Timestamp) -> LaneIx {
        let ix = LaneIx(self.lanes.add(Lane {
            name: report.device.clone(),
            handle: report.handle.clone(),
            worker,
            attachment: report.attachment,
            failed: false,
            busy: None,
            offline_since: Some(at),
            rows: Rows::default(),
            labels: None,
            note: None,
            created_at: at,
            taken: None,
        }));
        self.add_to_indexes(ix);
        self.timers.set(at + self.settings.offline_grace, Timer::Lane(ix));
        ix
    }

    /// Keeps count of lanes that vanish while their worker lives (N17).
    fn note_drop(&mut self, ix: LaneIx, usable: bool, at: Timestamp) {
        let worker_ix = self.lanes[ix].worker;
        let was_usable = self.lanes[ix].is_online();
        let since = at - self.settings.dropout_window;
        let worker = &mut self.workers[worker_ix];
        worker.drops.retain(|(dropped, lane)| *dropped >= since && *lane != ix);
        if was_usable && !usable {
            worker.drops.push((at, ix));
            self.dirty.check_drops.insert(worker_ix);
        }
    }
}
