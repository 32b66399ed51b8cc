//! Supply of a worker: running devices and target (Q21).

use crate::Name;

/// The figures of Q3 for one worker, all from one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerSupply {
    /// The worker.
    pub worker: Name,
    /// Its live leases.
    pub running: u32,
    /// Its devices that an active job could start on now.
    pub eligible: u32,
    /// The number of leases it should have: `min(cap, running + eligible)`.
    pub target: u32,
}
