//! Settings of the pool, and its figures for the metrics.

use super::PoolWorkerStatus;
use crate::Millis;
use alloc::vec::Vec;

/// Settings of the pool. Defaults are contract P's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// Silence after which a worker counts as offline (P5).
    pub offline_after: Millis,
    /// Time that a lease outlives the last heartbeat or poll of its worker (P5).
    pub lease: Millis,
    /// Attempts of a job that does not say (P8).
    pub max_attempts: u8,
    /// Dissents that ban a worker (P15).
    pub ban_after: u32,
    /// Number of jobs of one client that may wait at once.
    pub waiting_max: u64,
}

impl Default for PoolSettings {
    fn default() -> Self {
        Self {
            offline_after: Millis::from_secs(30),
            lease: Millis::from_secs(900),
            max_attempts: 3,
            ban_after: 3,
            waiting_max: 10_000_000,
        }
    }
}

/// Figures of the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolStatus {
    /// Workers by status.
    pub workers: Vec<(PoolWorkerStatus, u64)>,
    /// Jobs that are not over.
    pub open: u64,
    /// Those of them that could be given out now.
    pub waiting: u64,
    /// Live assignments.
    pub assignments: u64,
    /// Requests that wait for work.
    pub polls: u64,
}
