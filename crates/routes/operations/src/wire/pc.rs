//! PCs, which are the nodes of contract N (Q13).

use serde::Serialize;
use utoipa::ToSchema;

/// A row of `pc_device_summary`, and a little more.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Pc {
    /// The PC's id, which is its node's name.
    pub pc_id: String,
    /// The same.
    pub pc_number: String,
    /// `online` or `offline`.
    pub pc_status: &'static str,
    /// How many devices may run at once there.
    pub max_devices: u32,
    /// Devices attached.
    pub device_count: u64,
    /// Devices with a running task.
    pub running_count: u64,
    /// Devices that an active run could start on now (Q5); 0 without an active run.
    pub eligible_device_count: u64,
    /// How many devices should run: `min(max_devices, running_count + eligible_device_count)` (Q3).
    pub target: u64,
    /// Devices online without one.
    pub idle_count: u64,
    /// Devices out of service.
    pub error_count: u64,
    /// Devices offline.
    pub disconnected_count: u64,
    /// The last sign of life, epoch milliseconds.
    pub last_seen_at: i64,
    /// Since when `pc_status` is so.
    pub status_since: i64,
    /// Whether it gets no more work on request.
    pub draining: bool,
    /// Supply rests until then after a mass dropout.
    pub paused_until: Option<i64>,
    /// `late` when its heartbeat has been missing for three periods although it pulls or calls back (N8c), else `ok`.
    pub heartbeat: &'static str,
    /// When it was first seen.
    pub created_at: i64,
}

/// PCs, by id.
#[derive(Debug, Serialize, ToSchema)]
pub struct PcList {
    /// This page.
    pub pcs: Vec<Pc>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One PC with its life.
#[derive(Debug, Serialize, ToSchema)]
pub struct PcDetail {
    /// The PC itself.
    #[serde(flatten)]
    pub pc: Pc,
    /// Its own cap, as it was set; null where the general one applies, which `max_devices` then is.
    pub own_max_devices: Option<u32>,
    /// What happened to it, newest first.
    pub history: Vec<PcEvent>,
}

/// A change in a PC's life.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct PcEvent {
    /// `enrolled`, `online`, `offline`, `draining`, `resumed`, `paused`, `supplied`, `capped`, `secret_rotated`.
    pub event_type: &'static str,
    /// When, epoch milliseconds.
    pub at: i64,
}

/// A secret of a node's own; shown this once.
#[derive(Serialize, ToSchema)]
pub struct NewSecret {
    /// Whose.
    pub node_id: String,
    /// The secret.
    pub secret: String,
    /// Until when the one before works too, epoch milliseconds.
    pub old_valid_until: i64,
}
