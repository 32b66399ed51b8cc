//! When a batch happened.

use crate::Batch;
use muster_model::{Change, JobRecord, LaneRecord, TaskRecord, Timestamp, WorkerRecord};

impl Batch {
    /// The latest moment its rows speak of as past; `None`: they speak of none.
    ///
    /// A store has no clock. This is what it dates the batch's part of the feed with, to know when it
    /// is old enough to delete.
    #[must_use]
    pub fn moment(&self) -> Option<Timestamp> {
        let changes = self.changes.iter().filter_map(change_moment);
        changes.chain(self.sightings.iter().map(|(_, at)| *at)).max()
    }
}

fn change_moment(change: &Change) -> Option<Timestamp> {
    match change {
        Change::Job(job) => Some(job_moment(job)),
        Change::Task(task) => Some(task_moment(task)),
        Change::Lane(lane) => Some(lane_moment(lane)),
        Change::Worker(worker) => Some(worker_moment(worker)),
        Change::Share(_) | Change::ShareGone { .. } | Change::Stop { .. } | Change::Secrets(..) => None,
        Change::Log(log) => Some(log.at),
        Change::WorkerLog(log) => Some(log.at),
        Change::Report(report) => Some(report.at),
        Change::Key(key) => Some(key.at),
        Change::Alert(alert) => Some(alert.at),
    }
}

fn job_moment(job: &JobRecord) -> Timestamp {
    latest(job.created_at, [job.started_at, job.completed_at])
}

fn task_moment(task: &TaskRecord) -> Timestamp {
    latest(task.created_at, [task.started_at, task.confirmed_at, task.completed_at])
}

fn lane_moment(lane: &LaneRecord) -> Timestamp {
    latest(lane.created_at, [lane.offline_since])
}

fn worker_moment(worker: &WorkerRecord) -> Timestamp {
    latest(worker.created_at, [Some(worker.status_since), Some(worker.last_seen)])
}

fn latest<const N: usize>(first: Timestamp, others: [Option<Timestamp>; N]) -> Timestamp {
    others.into_iter().flatten().fold(first, Timestamp::max)
}
