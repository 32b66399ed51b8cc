//! The figures that the rules of sessions consult.

use crate::{Millis, Ratio};

/// Settings of sessions. Defaults are contract S's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSettings {
    /// Interval of the workers' heartbeats (S1, S2).
    pub heartbeat: Millis,
    /// Heartbeats missed until a worker is Lost (S8).
    pub misses_until_lost: u32,
    /// The queue from which on a worker is Degraded (S8).
    pub degraded_ratio: Ratio,
    /// The round trip beyond which a worker is Degraded (S8).
    pub rtt_max: Millis,
    /// Good heartbeats for so long make a Degraded worker Healthy again (S8).
    pub degraded_recovery: Millis,
    /// Losses and failures that put a worker into quarantine (S8).
    pub quarantine_after: u32,
    /// Within this time (S8).
    pub quarantine_window: Millis,
    /// Failures after which a range is halved (S26b).
    pub split_after: u16,
    /// Failures or losses after which a single frame is given up, losses after which a range is halved, and renderings of
    /// a range that the manifest would skip (S8, S23b, S26b).
    pub max_attempts: u16,
    /// From so many different workers on, a task's losses are the task's fault (S8).
    pub poison_workers: u32,
    /// Ids are granted up to multiples of this (S12).
    pub chunk_size: u64,
    /// Treatment of running tasks when a new term begins (S19).
    pub rebind: Rebind,
    /// Time after the beginning of a term within which a worker may come back with its task (S19).
    pub rebind_within: Millis,
    /// An assignment that is not heard of for so long goes to another worker.
    pub stall: Millis,
}

/// Treatment of running tasks when a new term begins (S19).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebind {
    /// They are lost, and given out anew.
    Reassign,
    /// A worker that comes back in time with the same task keeps it.
    Resume,
}

impl FrameSettings {
    /// Silence that makes a worker Lost.
    #[must_use]
    pub fn silence_max(&self) -> Millis {
        Millis(self.heartbeat.0.saturating_mul(i64::from(self.misses_until_lost)))
    }
}

impl Default for FrameSettings {
    fn default() -> Self {
        Self {
            heartbeat: Millis(1000),
            misses_until_lost: 3,
            degraded_ratio: Ratio(850_000),
            rtt_max: Millis(500),
            degraded_recovery: Millis::from_secs(30),
            quarantine_after: 3,
            quarantine_window: Millis::from_secs(600),
            split_after: 2,
            max_attempts: 5,
            poison_workers: 3,
            chunk_size: 1_000_000,
            rebind: Rebind::Reassign,
            rebind_within: Millis::from_secs(5),
            stall: Millis::from_secs(600),
        }
    }
}
