//! Events in the life of a task: it is leased, confirmed, ends, waits again, or is skipped.

use crate::{
    Mutant,
    devices::state::{LaneIx, LaneRow, Lease, RowState, State, Task, TaskRef, WorkerIx},
    kernel::storage::MaybeTime,
};
use alloc::boxed::Box;
use muster_model::{
    Change, Event, Fence, Grant, LeaseKind, LogKind, LogRecord, Millis, Name, Outcome, TaskId, TaskRecord,
    TaskStatus, Timestamp,
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
        live.ended_at = at.into();
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
            lane.set_row(LaneRow::new(task, RowState::Ended));
        });
        self.tasks.remove(&task);
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
        self.change_lane(ix, |lane| lane.set_row(LaneRow::new(task, RowState::Ended)));
        self.log(LogRecord { task: id, seq: 1, attempt: 0, kind: LogKind::Created, message: None, at });
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
        if let Some(share) = self.workers[ix].shares.get_mut(seq) {
            change(&mut share.counts);
        }
    }

    /// Lets a worker hear that a job has nothing more for it.
    pub(super) fn announce_share(&mut self, ix: WorkerIx, seq: u64) {
        let worker = &mut self.workers[ix];
        let Some(share) = worker.shares.get(seq) else {
            return;
        };
        if share.first.is_some() && share.is_drained() {
            worker.news = true;
            self.dirty.woken.insert(ix);
            self.dirty.shares.insert((ix, seq));
        }
    }
}

impl State {
    pub(super) fn grant(&mut self, grant: &Grant) {
        let (Some(task), Some(worker)) = (self.task_ref(grant.task), self.workers.ix(&grant.worker)) else {
            return;
        };
        let Some(lane) = self.granted_lane(task, worker, &grant.lane) else { return };
        self.keep_share(worker, task.job);
        if grant.created {
            self.create_task(task, lane, grant);
        }
        self.lease_out(task, worker, grant);
        let jobs = &self.jobs;
        self.lanes[lane].rows.retain(|row| jobs.contains_key(&row.job));
        self.change_lane(lane, |lane| {
            lane.set_row(LaneRow::new(task, RowState::Running));
        });
        self.log_live(task, LogKind::Sent, grant.at);
        self.take_slot(task, worker, grant);
    }

    /// The lane of a grant: usually the first waiting lane of its worker, otherwise found by name.
    fn granted_lane(&self, task: TaskRef, worker: WorkerIx, name: &Name) -> Option<LaneIx> {
        let share = self.workers[worker].shares.get(task.job);
        let first = share.and_then(|share| share.waiting.iter().next());
        first.filter(|ix| self.lanes[*ix].name == *name).or_else(|| self.lanes.ix(name))
    }

    fn create_task(&mut self, task: TaskRef, lane: LaneIx, grant: &Grant) {
        let job = self.jobs.get_mut(&task.job).expect("a task is created for a job in memory");
        job.tasks = job.tasks.max(task.ordinal);
        job.open += 1;
        let created = Task {
            lane,
            worker: self.lanes[lane].worker,
            attempt: grant.attempt,
            max_attempts: grant.max_attempts,
            fence: grant.fence,
            kind: grant.kind,
            lease: None,
            granted_at: grant.at,
            confirmed_at: MaybeTime::NONE,
            ended_at: MaybeTime::NONE,
            timed_out: false,
            error: None,
            created_at: grant.at,
            order: 0,
            logs: 0,
        };
        self.tasks.insert(task, created);
        self.log_live(task, LogKind::Created, grant.at);
    }

    fn lease_out(&mut self, task: TaskRef, worker: WorkerIx, grant: &Grant) {
        let until = grant.until;
        let live = self.tasks.get_mut(&task).expect("a leased task is live");
        live.worker = worker;
        live.attempt = grant.attempt;
        live.fence = grant.fence;
        live.kind = grant.kind;
        live.granted_at = grant.at;
        live.confirmed_at = MaybeTime::NONE;
        live.error = None;
        live.lease = Some(Lease { until, timeout_at: grant.timeout_at, shown_at: grant.at });
        self.jobs.get_mut(&task.job).expect("a live task's job is in memory").pending.remove(&task.ordinal);
    }

    fn take_slot(&mut self, task: TaskRef, ix: WorkerIx, grant: &Grant) {
        self.end_stop(ix, grant.task);
        let first_presence = !crate::devices::rule::liveness::holds_presence_leases(self, ix);
        let queue = self.jobs[&task.job].queue.clone();
        let worker = &mut self.workers[ix];
        worker.live.insert(task);
        worker.granted_under = worker.cap.unwrap_or(self.settings.slots);
        worker.turn = Some(queue);
        if grant.kind == LeaseKind::Presence {
            worker.presence += 1;
            if first_presence {
                worker.lease_until = grant.until;
                self.dirty.workers.insert(ix);
            }
            worker.unconfirmed.insert((grant.at, task));
            let share = worker.shares.get_mut(task.job).expect("kept when granted");
            if share.first.is_none() {
                share.first = Some(task.ordinal);
                self.dirty.shares.insert((ix, task.job));
            }
        }
        self.note_due(ix, task);
        self.arm(ix);
        self.dirty.tasks.insert(task);
    }

    /// Remembers the earliest moment at which a lease of the worker may have to end.
    pub(crate) fn note_due(&mut self, ix: WorkerIx, task: TaskRef) {
        let due = crate::devices::rule::liveness::due(&self.tasks[&task]);
        let worker = &mut self.workers[ix];
        worker.lease_due = [worker.lease_due, due].into_iter().flatten().min();
    }

    pub(super) fn confirm(&mut self, task: TaskRef, at: Timestamp) {
        let Some(live) = self.tasks.get_mut(&task) else {
            return;
        };
        live.confirmed_at = at.into();
        let (worker, shown) = (live.worker, live.lease.map(|lease| lease.shown_at));
        if let Some(shown) = shown {
            self.workers[worker].unconfirmed.remove(&(shown, task));
        }
        self.log_live(task, LogKind::Acked, at);
        self.dirty.tasks.insert(task);
    }

    /// Gives back slot and lane of a task whose attempt ended; its row waits for another.
    pub(super) fn requeue(&mut self, task: TaskRef) {
        let Some(lane) = self.free_slot(task) else { return };
        self.order += 1;
        self.tasks.get_mut(&task).expect("it was leased just now").order = self.order;
        self.jobs.get_mut(&task.job).expect("a live task's job is in memory").pending.insert(task.ordinal);
        self.change_lane(lane, |lane| {
            lane.set_row(LaneRow::new(task, RowState::Pending));
        });
        if self.long_away.contains(&lane) && !self.has_bug(Mutant::GraceForgotten) {
            self.dirty.check_skips.insert(lane);
        }
        if !self.has_bug(Mutant::RetryNotWritten) {
            self.dirty.tasks.insert(task);
        }
    }

    /// Takes the lease from a task; gives its lane, which is still to be freed.
    pub(super) fn free_slot(&mut self, task: TaskRef) -> Option<LaneIx> {
        let live = self.tasks.get_mut(&task)?;
        let lease = live.lease.take()?;
        let (lane, presence) = (live.lane, live.kind == LeaseKind::Presence);
        let was_confirmed = live.confirmed_at.is_some();
        let worker = &mut self.workers[live.worker];
        worker.live.remove(&task);
        worker.presence -= u32::from(presence);
        if !was_confirmed {
            worker.unconfirmed.remove(&(lease.shown_at, task));
        }
        self.dirty.woken.insert(live.worker);
        Some(lane)
    }

    /// The clock of an attempt; a planted bug lets that of the first go on.
    pub(crate) fn timeout_at(&self, task: Option<&Task>, now: Timestamp) -> Timestamp {
        let begun =
            task.filter(|_| self.has_bug(Mutant::RetryClockNotReset)).map_or(now, |task| task.created_at);
        (begun + self.settings.attempt_timeout).max(now + Millis(1))
    }
}
