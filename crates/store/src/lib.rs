//! The interface of a store, a store in memory, and the conformance suite.
//!
//! A store is told what changed, batch by batch, by the one writer; it never decides. Each batch is one
//! transaction. Three handles keep the three kinds of access apart: [`Writer`] (one per term, on the
//! committing thread), [`Lookup`] (the driver's point reads of what memory has forgotten) and
//! [`Reader`] (lists and history for people, on connections of their own).

mod batch;
mod election;
mod memory;
pub mod position;
mod query;
mod reader;

pub use batch::{Batch, Cutoffs, FeedEntry, Loaded, continue_feed};
pub use election::{Candidate, Election, Standing};
pub use memory::{Failure, MemoryStore};
use muster_model::{Facts, Key, Timestamp};
pub use query::{
    ARTIFACT_MARK, Backlog, ChunkFilter, CountedJob, Cursor, DiagnosticFilter, FeedPage, FleetView,
    JobCounts, JobFilter, LaneFilter, LaneView, OpenCounts, POOL_JOBS_LOOKED_AT, Page, Pages, PoolJobFilter,
    PoolJobView, TARGET_WORKERS_MAX, TaskFilter, WorkerSummary, pages,
};
pub use reader::{AccountReader, FrameReader, OverviewReader, PoolReader, Reader, ScheduleReader};

#[cfg(feature = "conformance")]
pub mod conformance;

/// Errors of a store. The driver treats every one alike: the term ends.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the data.
    #[error("{0} is in use by another muster server; stop it first or choose another --data directory")]
    InUse(String),
    /// A server leads on a database that is wanted for something else.
    #[error("the database is in use: the muster server at {0} leads there; stop all servers on it first")]
    Led(String),
    /// There is nothing where the data should be.
    #[error("{0}")]
    Absent(String),
    /// The data were written by a newer version.
    #[error("the store has schema version {found}, this binary knows {known}; use a newer muster")]
    TooNew {
        /// In the store.
        found: u32,
        /// In this binary.
        known: u32,
    },
    /// A newer term began: this one may write no more.
    #[error("a newer term has begun")]
    Superseded,
    /// A row holds what it cannot hold.
    #[error("the store holds a row that makes no sense: {0}")]
    Corrupt(String),
    /// The address of the store makes no sense.
    #[error(
        "the address of the database makes no sense: {0}; expected postgres://user:password@host/database (--store)"
    )]
    Address(String),
    /// The store cannot be used as it is set up: somebody must change that, waiting does not.
    #[error("the store cannot be used: {0}")]
    Unfit(String),
    /// The database said no.
    #[error("the store failed: {0}")]
    Backend(String),
}

/// A place that keeps what the engine decided.
pub trait Store: Send + Sync + 'static {
    /// Begins a term: whoever held an earlier one can write no more. Counts the epoch up.
    ///
    /// # Errors
    /// When the store cannot be reached or another process holds it.
    fn begin_term(&self) -> Result<Term, StoreError>;

    /// Begins a term whose epoch is larger than one that was seen elsewhere.
    fn begin_term_beyond(&self, epoch: u64) -> Result<Term, StoreError> {
        loop {
            let term = self.begin_term()?;
            if term.epoch > epoch {
                return Ok(term);
            }
        }
    }

    /// A handle for reading; cheap to call, safe to share.
    fn reader(&self) -> std::sync::Arc<dyn Reader>;

    /// Election among the servers that share it; `None`: it belongs to one process, which leads.
    fn election(&self) -> Option<std::sync::Arc<dyn Election>> {
        None
    }
}

/// The handles of one term.
pub struct Term {
    /// Counts up with every term.
    pub epoch: u64,
    /// The last number of the feed that was given out.
    pub feed_seq: u64,
    /// Number of commits before this term; only ever compared with what
    /// [`Election::preload`] told.
    pub commits: u64,
    /// Time by the store's own clock, and not before any moment an earlier term knew of; `None`: the
    /// store has no clock, and the server goes by its own.
    pub now: Option<Timestamp>,
    /// For the committing thread.
    pub writer: Box<dyn Writer>,
    /// For the driver.
    pub lookup: Box<dyn Lookup>,
}

/// The writing end of a term.
pub trait Writer: Send {
    /// Hands over everything that is live, in this order: workers, lanes, jobs (open ones, oldest
    /// first), the tasks of those jobs (ended ones too), shares, secrets; then of sessions: the farm, workers
    /// (descriptions left out), open sessions (oldest first, bodies left out), all ranges of those (results left
    /// out), their live chunks, entries of the quarantine not moved yet; then of accounts: users, logins, keys (those
    /// taken back too, so that numbering goes on); then of the pool: the counters, workers (their specs as JSON left
    /// out), open jobs (oldest first, payloads left out), each followed by all its assignments (results left out);
    /// then schedules by id.
    ///
    /// # Errors
    /// When a row cannot be read or makes no sense.
    fn load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), StoreError>;

    /// Makes a batch durable: all of it or nothing.
    ///
    /// # Errors
    /// When it is not, or may not be, durable.
    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Deletes a bounded amount of what is older than the cutoffs; answers whether more remains.
    fn prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, StoreError>;
}

/// Point reads of what memory has forgotten. Sees every batch whose commit returned.
pub trait Lookup: Send {
    /// The facts that exist for these keys. A job or session that is open is not a fact; nor is a task
    /// or range that is not ended. An assignment is one whatever became of it.
    fn facts(&mut self, keys: &[Key]) -> Result<Facts, StoreError>;
}
