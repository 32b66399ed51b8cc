//! Batches that go into a store, and what comes out of it at a start.

use crate::StoreError;
use muster_model::{
    AccountChange, Change, FrameChange, JobRecord, LaneRecord, Name, PoolChange, PoolWorkerId,
    ScheduleRecord, SecretRecord, ShareRecord, TaskId, TaskRecord, Timestamp, WorkerRecord,
};

/// The content of one transaction.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Rows, in the order they came to be; a later row replaces an earlier one of the same key.
    pub changes: Vec<Change>,
    /// What subscribers will be told once this is durable.
    pub feed: Vec<FeedEntry>,
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
}

/// One thing that happened, as subscribers see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEntry {
    /// Counts up by one, without gaps, over all terms.
    pub seq: u64,
    /// The kind of thing, in snake case.
    pub kind: String,
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
pub fn continue_feed(last: u64, entries: &[FeedEntry]) -> Result<u64, StoreError> {
    entries.iter().try_fold(last, |last, entry| {
        if entry.seq == last + 1 {
            Ok(entry.seq)
        } else {
            Err(StoreError::Corrupt(format!("feed {}: does not follow {last}", entry.seq)))
        }
    })
}
