//! `GET /api/nodes`: every known node with its last heartbeat (N8, N8c).

use crate::Heartbeat;
use muster_model::{Timestamp, WorkerRecord};
use serde::Serialize;
use utoipa::ToSchema;

/// Every node that ever pulled or called back.
#[derive(Debug, Serialize, ToSchema)]
pub struct NodeList {
    /// By name.
    pub nodes: Vec<NodeState>,
}

/// A node, with what its last heartbeat said (N8). The fields of the heartbeat are null if this server has heard none.
#[derive(Debug, Serialize, ToSchema)]
pub struct NodeState {
    /// The node.
    pub node_id: String,
    /// `online` or `offline`, by its last sign of life.
    pub status: &'static str,
    /// `late` when the node pulls or calls back but its heartbeat has been missing for three periods (N8c), else `ok`.
    pub heartbeat: &'static str,
    /// Since when the heartbeat is late, epoch milliseconds.
    pub heartbeat_late_since: Option<i64>,
    /// By the node's clock, epoch milliseconds.
    pub timestamp: Option<i64>,
    /// By the coordinator's clock, epoch milliseconds.
    pub heard_at: Option<i64>,
    /// Devices attached.
    pub connected_devices_count: Option<u64>,
    /// Devices with a running job.
    pub running_devices_count: Option<u64>,
    /// Targets not yet started.
    pub queue_devices_count: Option<u64>,
    /// True if the vendor's control channel works.
    pub vendor_ws_ok: Option<bool>,
    /// True if the node could not deliver its reports for a while.
    pub degraded: Option<bool>,
}

/// The last heartbeat of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastHeartbeat {
    /// Time of arrival by the coordinator's clock.
    pub heard_at: Timestamp,
    /// Its content.
    pub heartbeat: Heartbeat,
}

impl NodeState {
    /// Describes a node from its record and its last heartbeat, if this server heard one.
    #[must_use]
    pub fn new(record: &WorkerRecord, last: Option<LastHeartbeat>) -> Self {
        let beat = last.map(|last| last.heartbeat);
        Self {
            node_id: record.id.to_string(),
            status: record.status.as_str(),
            heartbeat: if record.heartbeat_late_since.is_some() { "late" } else { "ok" },
            heartbeat_late_since: record.heartbeat_late_since.map(|since| since.0),
            timestamp: beat.map(|beat| beat.at.0),
            heard_at: last.map(|last| last.heard_at.0),
            connected_devices_count: beat.map(|beat| beat.connected),
            running_devices_count: beat.map(|beat| beat.running),
            queue_devices_count: beat.map(|beat| beat.queued),
            vendor_ws_ok: beat.map(|beat| beat.vendor_ws_ok),
            degraded: beat.map(|beat| beat.degraded),
        }
    }
}
