//! Batches that go into a store, and what comes out of it at a start.

use crate::StoreError;
use muster_model::{
    AccountChange, Change, FrameChange, JobRecord, LaneRecord, Name, PoolChange, PoolWorkerId, ReportId,
    ScheduleRecord, SecretRecord, ShareRecord, TaskId, TaskRecord, Timestamp, WorkerRecord,
};
use std::{borrow::Cow, sync::Arc};

/// The content of one transaction.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Rows, in the order they came to be; a later row replaces an earlier one of the same key.
    pub changes: Vec<Change>,
    /// Entries that are published once this is durable.
    pub feed: Vec<Arc<FeedEntry>>,
    /// Signs of life worth writing down: `pcs.last_seen_at`.
    pub sightings: Vec<(Name, Timestamp)>,
    /// Signs of life worth writing down: `workers.last_seen_at`.
    pub pool_sightings: Vec<(PoolWorkerId, Timestamp)>,
}

impl Batch {
    /// True if there is nothing to make durable.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let sightings = self.sightings.is_empty() && self.pool_sightings.is_empty();
        self.changes.is_empty() && self.feed.is_empty() && sightings
    }

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

/// One thing that happened, as subscribers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEntry {
    /// Counts up by one, without gaps, over all terms.
    pub seq: u64,
    /// The kind of thing, in snake case.
    pub kind: Cow<'static, str>,
    /// A JSON object.
    pub body: String,
}

/// One live record, as loaded at the start of a term.
#[derive(Clone, Debug)]
pub enum Loaded {
    /// A worker.
    Worker(WorkerRecord),
    /// A device.
    Lane(LaneRecord),
    /// An open job, without its payload.
    Job(JobRecord),
    /// A task of an open job, without its result.
    Task(TaskRecord),
    /// A worker's part of a job.
    Share(ShareRecord),
    /// A task that a worker must still be told to stop.
    Stop(Name, TaskId),
    /// All secrets of a worker.
    Secrets(Name, Vec<SecretRecord>),
    /// The largest age number given to a job so far.
    JobSeq(u64),
    /// The last of the ids of reports, in the order of their texts; not given if there is none.
    NewestReport(ReportId),
    /// A record of sessions of frames.
    Frames(FrameChange),
    /// The largest age number given to a session so far.
    SessionSeq(u64),
    /// A record of accounts.
    Accounts(AccountChange),
    /// A record of the pool.
    Pool(PoolChange),
    /// A schedule.
    Schedule(Box<ScheduleRecord>),
}

/// Moments before which everything may be deleted.
#[derive(Clone, Copy, Debug)]
pub struct Cutoffs {
    /// Closed jobs with their tasks and logs (by their end), `pc_logs`, alerts, node events, the feed; closed
    /// sessions with their ranges, chunks and replays (by their end), transitions, diagnostics, and those entries
    /// of the quarantine that were confirmed; ended jobs of the pool with their assignments (by their end),
    /// privileged acts, and logins that ran out.
    pub history: Timestamp,
    /// Report ids.
    pub report_ids: Timestamp,
    /// Submission keys, the pool's too.
    pub keys: Timestamp,
}

/// Checks that entries continue the feed after `last`; answers the last number there is then.
///
/// # Errors
/// Names the first entry that does not follow the one before it: a subscriber could not tell it from
/// a loss.
pub fn continue_feed(last: u64, entries: &[Arc<FeedEntry>]) -> Result<u64, StoreError> {
    entries.iter().try_fold(last, |last, entry| {
        if entry.seq == last + 1 {
            Ok(entry.seq)
        } else {
            Err(StoreError::Corrupt(format!("feed {}: does not follow {last}", entry.seq)))
        }
    })
}

fn change_moment(change: &Change) -> Option<Timestamp> {
    match change {
        Change::Job(job) => Some(latest(job.created_at, [job.started_at, job.completed_at])),
        Change::Task(task) => {
            Some(latest(task.created_at, [task.started_at, task.confirmed_at, task.completed_at]))
        }
        Change::Lane(lane) => Some(latest(lane.created_at, [lane.offline_since])),
        Change::Worker(worker) => {
            Some(latest(worker.created_at, [Some(worker.status_since), Some(worker.last_seen)]))
        }
        Change::Share(_) | Change::ShareGone { .. } | Change::Stop { .. } | Change::Secrets(..) => None,
        Change::Log(log) => Some(log.at),
        Change::WorkerLog(log) => Some(log.at),
        Change::Report(report) => Some(report.at),
        Change::Key(key) => Some(key.at),
        Change::Alert(alert) => Some(alert.at),
        Change::Frames(change) => frame_moment(change),
        Change::Pool(change) => pool_moment(change),
        Change::Accounts(change) => account_moment(change),
        // A slot was fired when it was due, or later.
        Change::Schedule(schedule) => Some(latest(schedule.created_at, [schedule.last_slot])),
        Change::ScheduleGone(_) => None,
    }
}

fn frame_moment(change: &FrameChange) -> Option<Timestamp> {
    match change {
        FrameChange::Renderer(renderer) => {
            Some(latest(renderer.registered_at, [Some(renderer.state_since), renderer.last_heartbeat]))
        }
        FrameChange::RendererGone(_) | FrameChange::Farm(_) => None,
        FrameChange::Transition(transition) => Some(transition.at),
        FrameChange::Session(session) => Some(latest(session.created_at, [session.ended_at])),
        FrameChange::Task(task) => {
            Some(latest(task.created_at, [Some(task.granted_at), task.confirmed_at, task.ended_at]))
        }
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

fn latest<const N: usize>(first: Timestamp, others: [Option<Timestamp>; N]) -> Timestamp {
    others.into_iter().flatten().fold(first, Timestamp::max)
}
