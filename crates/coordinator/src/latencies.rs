//! How long things took, counted in steps.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

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
