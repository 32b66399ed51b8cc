//! The figures that rules consult.

use crate::{Millis, Ratio};

/// Settings of an installation; every rule reads its figure here. Defaults are the contracts'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Live leases a worker may hold unless it has a cap of its own (Q3).
    pub slots: u32,
    /// From grant to TIMEOUT (Q9).
    pub attempt_timeout: Millis,
    /// Attempts of a task in all (Q10).
    pub max_attempts: u16,
    /// Time that a device may be away before its task is closed (Q6).
    pub offline_grace: Millis,
    /// Silence after which a worker counts as offline (N15).
    pub offline_after: Millis,
    /// Period of the workers' heartbeats; one is late after three of them (N8c).
    pub heartbeat: Millis,
    /// Time when an unconfirmed job is handed out again (N2).
    pub redeliver_after: Millis,
    /// Time that a lease outlives the last sign of life of its worker (N15b).
    pub lease: Millis,
    /// Devices gone at once that make a mass dropout (N17).
    pub dropout_devices: u32,
    /// Share of a worker's devices gone at once, in percent, that makes one (N17).
    pub dropout_percent: u32,
    /// Span within which lost devices count as lost at once (N17).
    pub dropout_window: Millis,
    /// Pause of supply after a mass dropout (N17).
    pub dropout_pause: Millis,
    /// Time for which an old secret works beside the new one (Q15).
    pub secret_overlap: Millis,
    /// Time for which report ids are remembered (N5).
    pub report_id_retention: Millis,
    /// Time for which idempotency keys are remembered (Q15).
    pub key_retention: Millis,
    /// Delay after which an occurrence of a schedule counts as missed (Q17).
    pub schedule_grace: Millis,
    /// Settings of sessions of frames.
    pub frames: FrameSettings,
    /// Settings of the pool.
    pub pool: PoolSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            slots: 20,
            attempt_timeout: Millis::from_secs(1200),
            max_attempts: 3,
            offline_grace: Millis::from_secs(120),
            offline_after: Millis::from_secs(30),
            heartbeat: Millis::from_secs(30),
            redeliver_after: Millis::from_secs(15),
            lease: Millis::from_secs(300),
            dropout_devices: 10,
            dropout_percent: 20,
            dropout_window: Millis::from_secs(30),
            dropout_pause: Millis::from_secs(120),
            secret_overlap: Millis::from_secs(3600),
            report_id_retention: Millis::from_secs(90 * 86_400),
            key_retention: Millis::from_secs(86_400),
            schedule_grace: Millis::from_secs(60),
            frames: FrameSettings::default(),
            pool: PoolSettings::default(),
        }
    }
}

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
