//! What the server acknowledged, as those remember it whom it told.

use muster_tests::Event;
use serde_json::Value;
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU8, AtomicU64, Ordering},
};

/// Everything acknowledged so far, by all callers.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    phase: AtomicU8,
    pulls: AtomicU64,
    acked: Mutex<Acked>,
}

/// What was acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acked {
    /// Runs, by id.
    pub(crate) runs: Vec<String>,
    /// Runs that were cancelled.
    pub(crate) cancelled: Vec<String>,
    /// Callbacks, with what was answered.
    pub(crate) callbacks: Vec<(Event, Value)>,
    /// Rows ended over RPC, with the status they were said to have and the attempt.
    pub(crate) ended: Vec<(String, String, u64)>,
}

/// What the callers should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Everything.
    Loading = 0,
    /// End what there is.
    Draining = 1,
    /// Nothing more.
    Over = 2,
}

/// Sends everybody home, also when a check fails.
pub(crate) struct End<'l>(&'l Ledger);

impl Ledger {
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::SeqCst) {
            0 => Phase::Loading,
            1 => Phase::Draining,
            _ => Phase::Over,
        }
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::SeqCst);
    }

    pub(crate) fn end_with_scope(&self) -> End<'_> {
        End(self)
    }

    pub(crate) fn acked(&self) -> MutexGuard<'_, Acked> {
        self.acked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn count_pull(&self) {
        self.pulls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn summary(&self) -> String {
        let acked = self.acked();
        format!(
            "{} runs, {} cancels, {} callbacks and {} RPC ends acknowledged, {} pulls answered",
            acked.runs.len(),
            acked.cancelled.len(),
            acked.callbacks.len(),
            acked.ended.len(),
            self.pulls.load(Ordering::Relaxed)
        )
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.set_phase(Phase::Over);
    }
}
