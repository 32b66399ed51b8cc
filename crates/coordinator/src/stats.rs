//! What the writer counts about itself.

use crate::Latencies;
use muster_model::Timestamp;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// Counts since the start; cheap to read at any time.
#[derive(Debug, Default)]
pub struct Stats {
    commands: AtomicU64,
    batches: AtomicU64,
    rows: AtomicU64,
    waiting_pulls: AtomicU64,
    terms: AtomicU64,
    takeovers: AtomicU64,
    broken_invariants: AtomicU64,
    epoch: AtomicU64,
    ready: AtomicBool,
    commit_latencies: Latencies,
    /// By the server's own clock.
    renewed_at: AtomicI64,
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),*) => {
        impl Stats {
            $($(#[$doc])* #[must_use] pub fn $name(&self) -> u64 { self.$name.load(Ordering::Relaxed) })*
        }
    };
}

counters! {
    /// Commands decided.
    commands,
    /// Batches made durable.
    batches,
    /// Rows made durable.
    rows,
    /// Pulls that wait for work now.
    waiting_pulls,
    /// Terms begun.
    terms,
    /// Terms begun after one of another process: another server's, or this one's before it was started anew.
    takeovers,
    /// Times a sampled invariant did not hold.
    broken_invariants,
    /// The epoch of the running term.
    epoch
}

impl Stats {
    /// Whether a term runs.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// How long commits took, those that failed too.
    #[must_use]
    pub fn commits(&self) -> &Latencies {
        &self.commit_latencies
    }

    pub(crate) fn renewed_at(&self, at: Timestamp) {
        self.renewed_at.store(at.0, Ordering::Relaxed);
    }

    pub(crate) fn last_renewal(&self) -> Timestamp {
        Timestamp(self.renewed_at.load(Ordering::Relaxed))
    }

    pub(crate) fn count_commands(&self, count: usize) {
        self.commands.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_batch(&self, rows: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(crate) fn set_waiting_pulls(&self, count: usize) {
        self.waiting_pulls.store(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn count_broken_invariant(&self) {
        self.broken_invariants.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn begin_term(&self, epoch: u64) {
        self.terms.fetch_add(1, Ordering::Relaxed);
        if self.epoch.swap(epoch, Ordering::Relaxed) + 1 != epoch {
            self.takeovers.fetch_add(1, Ordering::Relaxed);
        }
        self.ready.store(true, Ordering::Release);
    }

    pub(crate) fn end_term(&self) {
        self.set_waiting_pulls(0);
        self.ready.store(false, Ordering::Release);
    }
}
