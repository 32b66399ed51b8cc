//! The figures that the rules of the pool consult.

use crate::Millis;

/// What an operator may set about the pool. Defaults are contract P's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSettings {
    /// Silence after which a worker counts as offline (P5).
    pub offline_after: Millis,
    /// How long a lease outlives the last heartbeat or poll of its worker (P5).
    pub lease: Millis,
    /// Attempts of a job that does not say (P8).
    pub max_attempts: u8,
    /// Dissents that ban a worker (P15).
    pub ban_after: u32,
    /// How many jobs of one client may wait at once.
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
