//! A lease comes into being, is confirmed, and is given back.

use crate::{
    Mutant,
    devices::state::{LaneIx, LaneRow, Lease, RowState, State, Task, TaskRef, WorkerIx},
};
use alloc::boxed::Box;
use muster_model::{Grant, LeaseKind, LogKind, Millis, TaskId, Timestamp};

/// A line for the log.
pub(crate) struct LogEntry {
    pub(crate) task: TaskId,
    pub(crate) seq: u32,
    pub(crate) attempt: u16,
    pub(crate) kind: LogKind,
    pub(crate) message: Option<Box<str>>,
    pub(crate) at: Timestamp,
}

impl State {
    pub(super) fn grant(&mut self, grant: &Grant) {
        let (Some(task), Some(worker), Some(lane)) =
            (self.task_ref(grant.task), self.workers.ix(&grant.worker), self.lanes.ix(&grant.lane))
        else {
            return;
        };
        self.keep_share(worker, task.job);
        if grant.created {
            self.create_task(task, grant);
        }
        self.lease_out(task, worker, grant);
        let jobs = &self.jobs;
        self.lanes[lane].rows.retain(|row| jobs.contains_key(&row.task.job));
        self.change_lane(lane, |lane| {
            lane.set_row(LaneRow { task, state: RowState::Running });
            lane.busy = Some(task);
        });
        self.log_live(task, LogKind::Sent, grant.at);
        self.take_slot(task, worker, grant);
    }

    fn create_task(&mut self, task: TaskRef, grant: &Grant) {
        let job = self.jobs.get_mut(&task.job).expect("a task is created for a job in memory");
        job.tasks = job.tasks.max(task.ordinal);
        job.open += 1;
        let created = Task {
            lane: self.lanes.ix(&grant.lane).expect("the caller found it"),
            worker: self.workers.ix(&grant.worker).expect("the caller found it"),
            attempt: grant.attempt,
            max_attempts: grant.max_attempts,
            fence: grant.fence,
            kind: grant.kind,
            lease: None,
            granted_at: grant.at,
            confirmed_at: None,
            ended_at: None,
            timed_out: false,
            error: None,
            created_at: grant.at,
            order: 0,
            logs: 0,
        };
        self.tasks.insert(task, Box::new(created));
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
        live.confirmed_at = None;
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
            let share = worker.shares.get_mut(&task.job).expect("kept when granted");
            if share.first.is_none() {
                share.first = Some(grant.task);
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
        live.confirmed_at = Some(at);
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
            lane.set_row(LaneRow { task, state: RowState::Pending });
            lane.busy = None;
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
        let worker = &mut self.workers[live.worker];
        worker.live.remove(&task);
        worker.presence -= u32::from(presence);
        worker.unconfirmed.remove(&(lease.shown_at, task));
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
