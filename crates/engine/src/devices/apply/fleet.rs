//! Events in the lives of workers and of their devices.

use crate::{
    Mutant,
    devices::{
        rule::contest,
        state::{Lane, LaneIx, Rows, State, TaskRef, Timer, Worker, WorkerIx},
    },
};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    Attachment, Change, DeviceReport, Event, JobId, LeaseKind, Name, SecretRecord, TaskId, Timestamp,
    WorkerLogKind, WorkerLogRecord,
};

/// Entry of a worker's log.
struct Note {
    kind: WorkerLogKind,
    at: Timestamp,
}

/// A new secret of a worker.
struct Rotation {
    hash: [u8; 32],
    /// End of the secrets before it.
    old_until: Timestamp,
    at: Timestamp,
}

impl State {
    pub(super) fn apply_to_worker(&mut self, event: &Event) {
        match event {
            Event::WorkerEnrolled { worker, at } => {
                let ix = WorkerIx(self.workers.add(Worker::new(worker.clone(), *at)));
                self.note_worker(ix, WorkerLogKind::Enrolled, *at);
                self.arm(ix);
            }
            Event::WorkerOffline { worker, at } => self.set_online(worker, false, *at),
            Event::WorkerOnline { worker, at } => self.set_online(worker, true, *at),
            Event::WorkerDraining { worker, draining, at } => {
                let kind = if *draining { WorkerLogKind::Draining } else { WorkerLogKind::Resumed };
                self.change_worker(worker, Note { kind, at: *at }, |worker| worker.draining = *draining);
            }
            Event::WorkerCapped { worker, cap, at } => {
                self.change_worker(worker, Note { kind: WorkerLogKind::Capped, at: *at }, |worker| {
                    worker.cap = *cap
                });
            }
            Event::HeartbeatChanged { worker, late, at } => {
                let kind = if *late { WorkerLogKind::HeartbeatLate } else { WorkerLogKind::HeartbeatBack };
                self.change_worker(worker, Note { kind, at: *at }, |worker| {
                    worker.heartbeat_late_since = late.then_some(*at);
                });
            }
            Event::SupplyPaused { worker, until, at } => {
                self.change_worker(worker, Note { kind: WorkerLogKind::Paused, at: *at }, |worker| {
                    worker.paused_until = Some(*until)
                });
            }
            Event::SupplyResumed { worker, at } => {
                self.change_worker(worker, Note { kind: WorkerLogKind::Supplied, at: *at }, |worker| {
                    worker.paused_until = None;
                    worker.drops.clear();
                })
            }
            Event::SecretRotated { worker, hash, old_until, at } => {
                self.rotate_secret(worker, &Rotation { hash: *hash, old_until: *old_until, at: *at });
            }
            Event::LeasesExtended { worker, until } => self.extend_leases(worker, *until),
            Event::ShareClosed { worker, job } => self.close_share(worker, *job),
            Event::StopEnded { worker, task } => {
                if let Some(ix) = self.workers.ix(worker) {
                    self.end_stop(ix, *task);
                }
            }
            Event::PullAnswered { worker, shown, at } => self.mark_shown(worker, shown, *at),
            _ => {}
        }
    }

    fn change_worker(&mut self, name: &Name, note: Note, change: impl FnOnce(&mut Worker)) {
        let Some(ix) = self.workers.ix(name) else { return };
        change(&mut self.workers[ix]);
        self.note_worker(ix, note.kind, note.at);
        self.dirty.woken.insert(ix);
        self.arm(ix);
    }

    fn rotate_secret(&mut self, name: &Name, rotation: &Rotation) {
        let Rotation { hash, old_until, at } = *rotation;
        self.change_worker(name, Note { kind: WorkerLogKind::SecretRotated, at }, |worker| {
            worker.secrets.retain(|old| old.valid_until.is_none_or(|until| until > at));
            for old in &mut worker.secrets {
                old.valid_until = Some(old.valid_until.map_or(old_until, |until| until.min(old_until)));
            }
            worker.secrets.push(SecretRecord { hash, valid_until: None });
        });
        let secrets = self.workers.ix(name).map(|ix| self.workers[ix].secrets.clone()).unwrap_or_default();
        self.dirty.history.push(Change::Secrets(name.clone(), secrets));
    }

    fn note_worker(&mut self, ix: WorkerIx, kind: WorkerLogKind, at: Timestamp) {
        let worker = self.workers[ix].name.clone();
        self.dirty.workers.insert(ix);
        self.dirty.history.push(Change::WorkerLog(WorkerLogRecord { worker, kind, at }));
    }

    fn set_online(&mut self, name: &Name, online: bool, at: Timestamp) {
        let Some(ix) = self.workers.ix(name) else { return };
        let worker = &mut self.workers[ix];
        worker.online = online;
        worker.status_since = at;
        worker.news |= online;
        let lanes: Vec<LaneIx> = worker.lanes.iter().copied().collect();
        for lane in lanes {
            if self.lanes[lane].attachment == Attachment::Online {
                self.set_usable(lane, online, at);
            }
        }
        self.note_worker(ix, if online { WorkerLogKind::Online } else { WorkerLogKind::Offline }, at);
        self.arm(ix);
    }

    fn extend_leases(&mut self, name: &Name, until: Timestamp) {
        let Some(ix) = self.workers.ix(name) else { return };
        self.workers[ix].lease_until = until;
        self.dirty.workers.insert(ix);
        let live: Vec<TaskRef> = self.workers[ix].live.iter().copied().collect();
        for task in live {
            let Some(leased) = self.tasks.get_mut(&task).filter(|task| task.kind == LeaseKind::Presence)
            else {
                continue;
            };
            if let Some(lease) = &mut leased.lease {
                lease.until = until;
            }
            self.dirty.tasks.insert(task);
        }
        self.arm(ix);
    }

    /// The worker reported the end of its share: it need not hear of it again. Should the job have more
    /// for it later, it is announced anew.
    fn close_share(&mut self, name: &Name, job: JobId) {
        let Some(ix) = self.workers.ix(name) else { return };
        let worker = &mut self.workers[ix];
        let Some(seq) = worker.shares.iter().find(|(_, share)| share.job == job).map(|(seq, _)| seq) else {
            return;
        };
        if self.jobs.contains_key(&seq) {
            if let Some(share) = worker.shares.get_mut(seq) {
                share.first = None;
            }
        } else {
            worker.shares.remove(seq);
        }
        self.dirty.history.push(Change::ShareGone { worker: name.clone(), job });
    }

    fn mark_shown(&mut self, name: &Name, shown: &[TaskId], at: Timestamp) {
        let Some(ix) = self.workers.ix(name) else { return };
        self.workers[ix].news = false;
        let clock = self.has_bug(Mutant::RedeliveryResetsClock).then(|| self.timeout_at(None, at));
        for id in shown {
            let Some(task) = self.task_ref(*id) else { continue };
            let Some(lease) = self.tasks.get_mut(&task).and_then(|task| task.lease.as_mut()) else {
                continue;
            };
            let before = core::mem::replace(&mut lease.shown_at, at);
            if let Some(clock) = clock {
                lease.timeout_at = clock;
                self.dirty.tasks.insert(task);
            }
            if self.workers[ix].unconfirmed.remove(&(before, task)) {
                self.workers[ix].unconfirmed.insert((at, task));
            }
        }
        if let Some(next) = crate::devices::rule::redelivery::next_due(self, ix) {
            self.timers.set(next, Timer::Redelivery(ix));
        }
    }
}

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
        let since = self.lanes[ix].offline_since.get();
        if usable == since.is_none() {
            return;
        }
        self.change_lane(ix, |lane| lane.offline_since = (!usable).then_some(at).into());
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
            offline_since: at.into(),
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
