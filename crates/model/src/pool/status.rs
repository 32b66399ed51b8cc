//! All in all, for the metrics.

use super::PoolWorkerStatus;
use alloc::vec::Vec;

/// What memory knows of the pool, counted.
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
