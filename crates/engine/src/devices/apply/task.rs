//! Events in the life of a task.

use super::LogEntry;
use crate::devices::state::{LaneRow, RowState, State, TaskRef, WorkerIx};
use alloc::boxed::Box;
use muster_model::{
    Change, Event, Fence, LeaseKind, LogKind, Name, Outcome, TaskId, TaskRecord, TaskStatus, Timestamp,
};

/// End of a task.
struct TaskEnd {
    status: TaskStatus,
    error: Option<Box<str>>,
    result: Option<Box<str>>,
    at: Timestamp,
}

impl State {
    pub(super) fn apply_to_task(&mut self, event: &Event) {
        match event {
            Event::LeaseConfirmed { task, at, .. } => {
                if let Some(task) = self.task_ref(*task) {
                    self.confirm(task, *at);
                }
            }
            Event::LeaseRenewed { task, until } => self.renew(*task, *until),
            Event::AttemptEnded { task, outcome, at, .. } => self.end_attempt(*task, outcome, *at),
            Event::TaskQueued { task, at } => {
                if let Some(task) = self.task_ref(*task) {
                    self.requeue(task);
                    self.log_live(task, LogKind::RetryScheduled, *at);
                }
            }
            Event::TaskForgiven { task } => {
                let Some(task) = self.task_ref(*task) else { return };
                let Some(live) = self.tasks.get_mut(&task) else {
                    return;
                };
                live.max_attempts = live.max_attempts.saturating_add(1);
                self.dirty.tasks.insert(task);
            }
            Event::TaskEnded { task, status, error, result, at } => {
                let (error, result) = (error.clone(), result.clone());
                self.end_task(*task, TaskEnd { status: *status, error, result, at: *at });
            }
            Event::TaskSkipped { task, lane, at, .. } => self.skip_task(*task, lane, *at),
            _ => {}
        }
    }

    fn renew(&mut self, id: TaskId, until: Timestamp) {
        let Some(task) = self.task_ref(id) else { return };
        let Some(lease) = self.tasks.get_mut(&task).and_then(|live| live.lease.as_mut()) else {
            return;
        };
        lease.until = until;
        self.dirty.tasks.insert(task);
    }

    /// A late success on a task that waits again ends no lease, only the wait (N15b).
    fn end_attempt(&mut self, id: TaskId, outcome: &Outcome, at: Timestamp) {
        let Some(task) = self.task_ref(id) else { return };
        let Some(kind) = self.tasks.get(&task).map(|live| live.kind) else { return };
        let error = crate::devices::rule::retry::error_text(self, kind, outcome);
        let has_bug = self.has_bug(crate::Mutant::SilenceIsNoTimeout);
        let Some(live) = self.tasks.get_mut(&task) else {
            return;
        };
        let (worker, was_leased) = (live.worker, live.lease.is_some());
        live.error = error;
        live.ended_at = Some(at);
        live.timed_out |= outcome.is_timeout() && !(has_bug && *outcome == Outcome::LeaseLost);
        let station = match outcome {
            Outcome::Succeeded => LogKind::Succeeded,
            Outcome::Failed { .. } => LogKind::Failed,
            Outcome::TimedOut | Outcome::LeaseLost => LogKind::Timeout,
        };
        self.log_live(task, station, at);
        if outcome.is_timeout() && was_leased && kind == LeaseKind::Presence {
            self.supersede(worker, id);
        } else {
            self.end_stop(worker, id);
        }
        if *outcome != Outcome::Succeeded && was_leased {
            self.count(worker, task.job, |counts| counts.failed_attempts += 1);
        }
    }

    /// The worker may still be at it: it is told to stop until it reports the end.
    fn supersede(&mut self, ix: WorkerIx, task: TaskId) {
        const SUPERSEDED_MAX: usize = 1000;
        let worker = &mut self.workers[ix];
        worker.superseded.insert(task);
        worker.news = true;
        let surplus =
            (worker.superseded.len() > SUPERSEDED_MAX).then(|| worker.superseded.first().copied()).flatten();
        self.dirty.history.push(Change::Stop { worker: worker.name.clone(), task, gone: false });
        self.dirty.woken.insert(ix);
        if let Some(oldest) = surplus {
            self.end_stop(ix, oldest);
        }
    }

    /// The worker need not be told to stop this task any more.
    pub(crate) fn end_stop(&mut self, ix: WorkerIx, task: TaskId) {
        let worker = &mut self.workers[ix];
        if worker.superseded.remove(&task) {
            self.dirty.history.push(Change::Stop { worker: worker.name.clone(), task, gone: true });
        }
    }

    fn end_task(&mut self, id: TaskId, end: TaskEnd) {
        let TaskEnd { status, error, result, at } = end;
        let Some(task) = self.task_ref(id) else { return };
        self.free_slot(task);
        if status == TaskStatus::Failed {
            self.log_live(task, LogKind::FailedFinal, at);
        }
        let Some(live) = self.tasks.get(&task) else { return };
        let (lane, worker) = (live.lane, live.worker);
        let record =
            TaskRecord { status, error, result, completed_at: Some(at), ..self.task_record(id, live) };
        self.change_lane(lane, |lane| {
            lane.set_row(LaneRow { task, state: RowState::Ended });
            lane.busy = lane.busy.filter(|busy| *busy != task);
        });
        self.tasks.remove(&task);
        self.dirty.tasks.remove(&task);
        if let Some(job) = self.jobs.get_mut(&task.job) {
            job.open -= 1;
            job.pending.remove(&task.ordinal);
        }
        self.remember_ended(task, record);
        self.count(worker, task.job, |counts| match status {
            TaskStatus::Completed => counts.completed += 1,
            TaskStatus::Failed => counts.failed += 1,
            _ => {}
        });
        self.announce_share(worker, task.job);
    }

    fn remember_ended(&mut self, task: TaskRef, record: TaskRecord) {
        if let Some(job) = self.jobs.get_mut(&task.job) {
            job.completed += u32::from(record.status == TaskStatus::Completed);
        }
        self.dirty.check_jobs.insert(task.job);
        self.dirty.ended.insert(record.id);
        self.recent.tasks.insert(record.id, Box::new(record));
    }

    fn skip_task(&mut self, id: TaskId, lane: &Name, at: Timestamp) {
        let (Some(task), Some(ix)) = (self.task_ref(id), self.lanes.ix(lane)) else {
            return;
        };
        if let Some(job) = self.jobs.get_mut(&task.job) {
            job.tasks = job.tasks.max(id.ordinal);
        }
        self.change_lane(ix, |lane| lane.set_row(LaneRow { task, state: RowState::Ended }));
        self.log(LogEntry { task: id, seq: 1, attempt: 0, kind: LogKind::Created, message: None, at });
        let max_attempts = self.jobs.get(&task.job).map_or(0, |job| job.max_attempts);
        let worker = self.lanes[ix].worker;
        self.remember_ended(
            task,
            TaskRecord {
                id,
                worker: self.workers[worker].name.clone(),
                lane: lane.clone(),
                status: TaskStatus::Cancelled,
                attempt: 0,
                max_attempts,
                error: Some(crate::devices::rule::offline_grace::skip_text()),
                result: None,
                fence: Fence(0),
                lease: LeaseKind::Presence,
                lease_until: None,
                created_at: at,
                started_at: None,
                confirmed_at: None,
                timeout_at: None,
                completed_at: Some(at),
                timed_out: false,
                logs: 1,
            },
        );
        self.announce_share(worker, task.job);
    }

    fn count(&mut self, ix: WorkerIx, seq: u64, change: impl FnOnce(&mut muster_model::ShareCounts)) {
        if let Some(share) = self.workers[ix].shares.get_mut(&seq) {
            change(&mut share.counts);
        }
    }

    /// Lets a worker hear that a job has nothing more for it.
    pub(super) fn announce_share(&mut self, ix: WorkerIx, seq: u64) {
        let worker = &mut self.workers[ix];
        let Some(share) = worker.shares.get(&seq) else {
            return;
        };
        if share.first.is_some() && share.is_drained() {
            worker.news = true;
            self.dirty.woken.insert(ix);
            self.dirty.shares.insert((ix, seq));
        }
    }
}
