//! The figures that rules consult.

use crate::{FrameSettings, Millis, PoolSettings};

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
