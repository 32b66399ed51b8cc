//! Counts and latencies of the writer.

use muster_model::Timestamp;
use std::{
    sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    time::Duration,
};

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
    /// True if a term runs.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Latencies of commits, those that failed included.
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

/// Durations counted by how long they were; cheap to add to and to read at any time.
#[derive(Debug, Default)]
pub struct Latencies {
    counts: [AtomicU64; Self::BOUNDS.len() + 1],
    sum_us: AtomicU64,
}

impl Latencies {
    /// The longest that each count takes in, in seconds; one more takes in what is longer.
    pub const BOUNDS: [f64; 12] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

    /// Everything counted so far: each bound with how many were within it and beyond the one before, the last without
    /// end, and the sum of all in seconds.
    #[must_use]
    pub fn counted(&self) -> ([(f64, u64); Self::BOUNDS.len() + 1], f64) {
        let bound = |place: usize| Self::BOUNDS.get(place).copied().unwrap_or(f64::INFINITY);
        let counted = std::array::from_fn(|place| (bound(place), self.counts[place].load(Ordering::Relaxed)));
        (counted, Duration::from_micros(self.sum_us.load(Ordering::Relaxed)).as_secs_f64())
    }

    pub(crate) fn observe(&self, took: Duration) {
        let place = Self::BOUNDS.partition_point(|bound| *bound < took.as_secs_f64());
        self.counts[place].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I8: each duration counts once, where it belongs.
    #[test]
    fn durations_are_counted_in_steps() {
        let latencies = Latencies::default();
        for millis in [1, 3, 3, 60_000] {
            latencies.observe(Duration::from_millis(millis));
        }
        let (counted, sum) = latencies.counted();
        let found: Vec<(f64, u64)> = counted.into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(found, [(0.001, 1), (0.005, 2), (f64::INFINITY, 1)]);
        assert!((sum - 60.007).abs() < 1e-9);
    }
}
