//! Makes events so. Nothing here refuses, and nothing here is decided.

mod fleet;
mod job;
mod task;

use crate::devices::state::{State, Timer};
use muster_model::{AlertKind, AlertRecord, Change, Event, LogKind, LogRecord, ReportRecord};

impl State {
    /// Changes memory by one event.
    pub(crate) fn apply(&mut self, event: &Event) {
        match event {
            Event::WorkerEnrolled { .. }
            | Event::WorkerOffline { .. }
            | Event::WorkerOnline { .. }
            | Event::WorkerDraining { .. }
            | Event::WorkerCapped { .. }
            | Event::SecretRotated { .. }
            | Event::HeartbeatChanged { .. }
            | Event::SupplyPaused { .. }
            | Event::SupplyResumed { .. }
            | Event::LeasesExtended { .. }
            | Event::ShareClosed { .. }
            | Event::StopEnded { .. }
            | Event::PullAnswered { .. } => self.apply_to_worker(event),
            Event::LaneAttached { .. }
            | Event::LaneReported { .. }
            | Event::LaneGraceOver { .. }
            | Event::LaneFailed { .. }
            | Event::LaneReturned { .. }
            | Event::LaneLabelled { .. } => self.apply_to_lane(event),
            Event::JobSubmitted { .. }
            | Event::JobActivated { .. }
            | Event::JobEnded { .. }
            | Event::JobClosed { .. } => {
                self.apply_to_job(event);
            }
            Event::LeaseGranted(grant) => self.grant(grant),
            Event::LeaseConfirmed { .. }
            | Event::LeaseRenewed { .. }
            | Event::TaskProgressed { .. }
            | Event::AttemptEnded { .. }
            | Event::TaskQueued { .. }
            | Event::TaskForgiven { .. }
            | Event::TaskEnded { .. }
            | Event::TaskSkipped { .. } => self.apply_to_task(event),
            Event::ReportRecorded { .. } => self.remember_report(event),
            Event::Frames(about) => {
                self.farm.apply(about);
                self.dismiss_waiting(event);
            }
            Event::Pool(about) => self.pool.apply(about),
            Event::Accounts(about) => {
                self.accounts.apply(about);
                self.dismiss_waiting(event);
            }
            Event::Schedules(event) => {
                self.schedules.apply(event);
                let fired = matches!(event, muster_model::ScheduleEvent::Fired { .. });
                if fired && self.has_bug(crate::Mutant::SlotNotWritten) {
                    self.schedules.take_changes();
                }
            }
            Event::AlertRaised(alert) => self.raise(alert),
        }
    }

    /// Stores an alert, and remembers when it was raised if it may not be raised again soon.
    fn raise(&mut self, alert: &AlertRecord) {
        if let Some(ix) = self.workers.ix(&alert.worker) {
            match alert.kind {
                AlertKind::DeviceContested => self.workers[ix].contest_told = Some(alert.at),
                AlertKind::EventConflict => self.workers[ix].conflict_alerted_at = Some(alert.at),
                AlertKind::MassDropout
                | AlertKind::SummaryMismatch
                | AlertKind::ChunkIntegrity
                | AlertKind::HeartbeatLate
                | AlertKind::WorkerZombie
                | AlertKind::FramesSkipped => {}
            }
        }
        self.dirty.history.push(Change::Alert(alert.clone()));
    }

    fn remember_report(&mut self, event: &Event) {
        let Event::ReportRecorded { id, subject, worker, task, effect, body, at } = event else {
            return;
        };
        if self.has_bug(crate::Mutant::ReportForgotten) {
            return;
        }
        self.recent.reports.insert(id.clone(), *subject);
        self.dirty.history.push(Change::Report(alloc::boxed::Box::new(ReportRecord {
            id: id.clone(),
            subject: *subject,
            worker: worker.clone(),
            task: *task,
            effect: *effect,
            body: body.clone(),
            at: *at,
        })));
    }

    /// Writes a station of an attempt into the log (Q12).
    pub(crate) fn log(&mut self, record: LogRecord) {
        self.dirty.history.push(Change::Log(record));
    }

    /// Logs a station of a live task's attempt.
    pub(crate) fn log_live(
        &mut self,
        task: crate::devices::state::TaskRef,
        kind: LogKind,
        at: muster_model::Timestamp,
    ) {
        let id = self.task_id(task);
        let live = self.tasks.get_mut(&task).expect("only live tasks are logged");
        live.logs += 1;
        let (seq, attempt) = (live.logs, live.attempt);
        let message =
            matches!(kind, LogKind::Failed | LogKind::Timeout).then(|| live.error.clone()).flatten();
        self.log(LogRecord { task: id, seq, attempt, kind, message, at });
    }

    /// Sets the timer that judges a worker, unless an earlier one is set.
    pub(crate) fn arm(&mut self, ix: crate::devices::state::WorkerIx) {
        if let Some(next) = crate::devices::rule::liveness::next_judgement(self, ix) {
            self.timers.arm(&mut self.workers[ix].armed, next, Timer::Worker(ix));
        }
    }
}
