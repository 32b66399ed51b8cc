//! The load of a fleet, and a ledger of all that was promised to it.

mod callers;
pub mod check;
pub mod jobs;
pub mod sessions;

use crate::{Answer, Event};
pub use callers::{Clients, start};
use serde_json::Value;
use std::{
    io,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    time::Duration,
};

/// A server that is busy says so and is asked again, as one that is gone.
pub(crate) fn patient(answer: io::Result<Answer>) -> io::Result<Answer> {
    let answer = answer?;
    if answer.status == 503 {
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    Ok(answer)
}

const PAUSE: Duration = Duration::from_millis(10);

/// Everything acknowledged so far, by all callers.
#[derive(Debug, Default)]
pub struct Ledger {
    phase: AtomicU8,
    pulls: AtomicU64,
    numbers: AtomicU64,
    backlog: AtomicU64,
    acked: Mutex<Acked>,
}

/// What was acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Acked {
    /// Runs, by id.
    pub runs: Vec<String>,
    /// Runs that were cancelled.
    pub cancelled: Vec<String>,
    /// Callbacks, with what was answered.
    pub callbacks: Vec<(Event, Value)>,
    /// Rows ended over RPC, with the status they were said to have and the attempt.
    pub ended: Vec<(String, String, u64)>,
    /// Jobs of the pool, by id, each with the number in it.
    pub jobs: Vec<(u64, u64)>,
    /// Sessions of frames, by id.
    pub sessions: Vec<String>,
}

/// What the callers should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Everything.
    Loading = 0,
    /// End what there is.
    Draining = 1,
    /// Nothing more.
    Over = 2,
}

/// Sends everybody home, also when a check fails.
#[derive(Debug)]
pub struct End<'l>(&'l Ledger);

impl Ledger {
    /// What the callers should do now.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::SeqCst) {
            0 => Phase::Loading,
            1 => Phase::Draining,
            _ => Phase::Over,
        }
    }

    /// Has them do something else.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::SeqCst);
    }

    /// Sends everybody home at the end of a scope.
    #[must_use]
    pub fn end_with_scope(&self) -> End<'_> {
        End(self)
    }

    /// What was acknowledged so far.
    pub fn acked(&self) -> MutexGuard<'_, Acked> {
        self.acked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells clients how many runs are waiting: they hand in no more while it is many.
    pub fn set_backlog(&self, runs: u64) {
        self.backlog.store(runs, Ordering::Relaxed);
    }

    pub(crate) fn is_backlog_long(&self) -> bool {
        self.backlog.load(Ordering::Relaxed) > BACKLOG_MAX
    }

    /// A number that nobody had before.
    pub fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn count_pull(&self) {
        self.pulls.fetch_add(1, Ordering::Relaxed);
    }

    /// How much it was.
    #[must_use]
    pub fn summary(&self) -> String {
        let acked = self.acked();
        format!(
            "{} runs, {} cancels, {} callbacks, {} RPC ends, {} jobs and {} sessions acknowledged, {} pulls answered",
            acked.runs.len(),
            acked.cancelled.len(),
            acked.callbacks.len(),
            acked.ended.len(),
            acked.jobs.len(),
            acked.sessions.len(),
            self.pulls.load(Ordering::Relaxed)
        )
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.set_phase(Phase::Over);
    }
}

/// So many are worked off within a minute.
const BACKLOG_MAX: u64 = 60;
