//! The moment of a batch.

use crate::Batch;
use muster_model::{
    AccountChange, Change, FrameChange, FrameTaskRecord, JobRecord, LaneRecord, PoolChange, RendererRecord,
    ScheduleRecord, SessionRecord, TaskRecord, Timestamp, WorkerRecord,
};

impl Batch {
    /// The latest moment its rows speak of as past; `None`: they speak of none.
    ///
    /// A store has no clock. This is what it dates the batch's part of the feed with, to know when it
    /// is old enough to delete.
    #[must_use]
    pub fn moment(&self) -> Option<Timestamp> {
        let changes = self.changes.iter().filter_map(change_moment);
        let sightings = self.sightings.iter().map(|(_, at)| *at);
        changes.chain(sightings).chain(self.pool_sightings.iter().map(|(_, at)| *at)).max()
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
        Change::Frames(change) => frame_moment(change),
        Change::Pool(change) => pool_moment(change),
        Change::Accounts(change) => account_moment(change),
        Change::Schedule(schedule) => Some(schedule_moment(schedule)),
        Change::ScheduleGone(_) => None,
    }
}

fn frame_moment(change: &FrameChange) -> Option<Timestamp> {
    match change {
        FrameChange::Renderer(renderer) => Some(renderer_moment(renderer)),
        FrameChange::RendererGone(_) | FrameChange::Farm(_) => None,
        FrameChange::Transition(transition) => Some(transition.at),
        FrameChange::Session(session) => Some(session_moment(session)),
        FrameChange::Task(task) => Some(frame_task_moment(task)),
        FrameChange::Chunk(chunk) => Some(chunk.at),
        FrameChange::Replay(replay) => Some(replay.at),
        FrameChange::Quarantine(entry) => Some(entry.at),
        FrameChange::Diagnostic(line) => Some(line.at),
    }
}

fn pool_moment(change: &PoolChange) -> Option<Timestamp> {
    match change {
        PoolChange::Worker(worker) => Some(latest(worker.created_at, [worker.last_seen])),
        PoolChange::Job(job) => Some(job.created_at),
        PoolChange::Assignment(assignment) => Some(latest(assignment.granted_at, [assignment.ended_at])),
        PoolChange::End(end) => Some(end.at),
        PoolChange::Key(key) => Some(key.at),
        PoolChange::Counters(_) => None,
    }
}

fn account_moment(change: &AccountChange) -> Option<Timestamp> {
    match change {
        AccountChange::User(user) => Some(user.created_at),
        AccountChange::Login(_) | AccountChange::LoginGone(_) => None,
        AccountChange::ApiKey(key) => Some(latest(key.created_at, [key.last_used_at, key.revoked_at])),
        AccountChange::Audit(act) => Some(act.at),
    }
}

/// A slot was fired when it was due, or later.
fn schedule_moment(schedule: &ScheduleRecord) -> Timestamp {
    latest(schedule.created_at, [schedule.last_slot])
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

fn renderer_moment(renderer: &RendererRecord) -> Timestamp {
    latest(renderer.registered_at, [Some(renderer.state_since), renderer.last_heartbeat])
}

fn session_moment(session: &SessionRecord) -> Timestamp {
    latest(session.created_at, [session.ended_at])
}

fn frame_task_moment(task: &FrameTaskRecord) -> Timestamp {
    latest(task.created_at, [Some(task.granted_at), task.confirmed_at, task.ended_at])
}

fn latest<const N: usize>(first: Timestamp, others: [Option<Timestamp>; N]) -> Timestamp {
    others.into_iter().flatten().fold(first, Timestamp::max)
}
