//! How a coordinator runs.

use crate::LeaseTimes;
use muster_model::{Millis, Settings};

/// How a coordinator runs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What the rules consult.
    pub settings: Settings,
    /// Requests that may wait for a decision or a commit before others are refused.
    pub queue_length: usize,
    /// How long ended work is kept.
    pub history: Millis,
    /// How long what lasts where servers share a store (S18).
    pub lease: LeaseTimes,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            queue_length: 8192,
            history: Millis::from_secs(30 * 86_400),
            lease: LeaseTimes::default(),
        }
    }
}
