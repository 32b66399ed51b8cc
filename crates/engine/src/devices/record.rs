//! Rows for the store: those of everything that changed since it was last asked for.

use crate::devices::state::{Dirty, Job, LaneIx, State, Task, WorkerIx};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    Change, JobOutcome, JobRecord, LaneRecord, LaneStatus, Name, ShareRecord, TaskId, TaskRecord, Timestamp,
    WorkerRecord, WorkerStatus,
};

impl State {
    /// The rows changed since the last call, each once.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        let fresh = Dirty {
            woken: core::mem::take(&mut self.dirty.woken),
            woken_all: self.dirty.woken_all,
            dismissed: core::mem::take(&mut self.dirty.dismissed),
            sighted: core::mem::take(&mut self.dirty.sighted),
            // The next batch is about as large as this one.
            history: Vec::with_capacity(self.dirty.history.len().min(HISTORY_ROOM_MAX)),
            ..Dirty::default()
        };
        let mut dirty = core::mem::replace(&mut self.dirty, fresh);
        let mut changes = dirty.history;
        changes.extend(
            dirty.workers.take().into_iter().map(|ix| Change::Worker(Box::new(self.worker_record(ix)))),
        );
        changes.extend(dirty.lanes.take().into_iter().map(|ix| Change::Lane(Box::new(self.lane_record(ix)))));
        let jobs = dirty.jobs.take().into_iter().filter_map(|seq| self.jobs.get(&seq));
        changes.extend(jobs.map(|job| Change::Job(Box::new(self.job_record(job)))));
        let tasks = dirty.tasks.take().into_iter().filter_map(|task| Some((task, self.tasks.get(&task)?)));
        changes
            .extend(tasks.map(|(at, task)| Change::Task(Box::new(self.task_record(self.task_id(at), task)))));
        changes.extend(
            dirty
                .ended
                .take()
                .into_iter()
                .filter_map(|id| self.recent.tasks.get(&id).cloned().map(Change::Task)),
        );
        changes.extend(
            dirty
                .shares
                .take()
                .into_iter()
                .filter_map(|(ix, seq)| self.share_record(ix, seq))
                .map(Change::Share),
        );
        changes
    }

    /// The workers heard of since the last call.
    pub(crate) fn take_sightings(&mut self) -> Vec<(Name, Timestamp)> {
        let sighted = self.dirty.sighted.take();
        let seen = |ix: WorkerIx| (self.workers[ix].name.clone(), self.workers[ix].last_seen);
        sighted.into_iter().map(seen).collect()
    }

    pub(crate) fn job_record(&self, job: &Job) -> JobRecord {
        JobRecord {
            id: job.id,
            seq: job.seq,
            queue: job.queue.clone(),
            status: job.status,
            outcome: JobOutcome::of(job.status, job.tasks, job.completed),
            scope: job.scope.clone(),
            max_attempts: job.max_attempts,
            tasks: job.tasks,
            open: !job.closed,
            created_at: job.created_at,
            started_at: job.started_at,
            completed_at: job.completed_at,
            error: job.error.clone(),
            payload: None,
        }
    }

    pub(crate) fn task_record(&self, id: TaskId, task: &Task) -> TaskRecord {
        TaskRecord {
            id,
            worker: self.workers[task.worker].name.clone(),
            lane: self.lanes[task.lane].name.clone(),
            status: task.status(),
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            error: task.error.clone(),
            result: None,
            fence: task.fence,
            lease: task.kind,
            lease_until: task.lease.map(|lease| lease.until),
            created_at: task.created_at,
            started_at: Some(task.granted_at),
            confirmed_at: task.confirmed_at.get(),
            timeout_at: task.lease.map(|lease| lease.timeout_at),
            completed_at: None,
            timed_out: task.timed_out,
            logs: task.logs,
        }
    }

    pub(crate) fn lane_record(&self, ix: LaneIx) -> LaneRecord {
        let lane = &self.lanes[ix];
        let status = match (lane.failed, lane.is_online()) {
            (true, _) => LaneStatus::Error,
            (false, true) => LaneStatus::Online,
            (false, false) => LaneStatus::Offline,
        };
        LaneRecord {
            id: lane.name.clone(),
            worker: self.workers[lane.worker].name.clone(),
            handle: lane.handle.clone(),
            attachment: lane.attachment,
            status,
            failed: lane.failed,
            labels: lane.labels.as_deref().cloned().unwrap_or_default(),
            offline_since: lane.offline_since.get(),
            note: lane.note.clone(),
            created_at: lane.created_at,
        }
    }

    pub(crate) fn worker_record(&self, ix: WorkerIx) -> WorkerRecord {
        let worker = &self.workers[ix];
        WorkerRecord {
            id: worker.name.clone(),
            status: if worker.online { WorkerStatus::Online } else { WorkerStatus::Offline },
            status_since: worker.status_since,
            cap: worker.cap,
            draining: worker.draining,
            paused_until: worker.paused_until,
            lease_until: worker.lease_until,
            last_seen: worker.last_seen,
            heartbeat_late_since: worker.heartbeat_late_since,
            created_at: worker.created_at,
        }
    }

    fn share_record(&self, ix: WorkerIx, seq: u64) -> Option<ShareRecord> {
        let worker = &self.workers[ix];
        let share = worker.shares.get(seq)?;
        Some(ShareRecord {
            worker: worker.name.clone(),
            job: share.job,
            first: share.first_task()?,
            finished: share.is_drained(),
            counts: share.counts,
        })
    }
}

/// Largest capacity reserved for the history of the next batch.
const HISTORY_ROOM_MAX: usize = 1024;
