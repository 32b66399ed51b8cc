//! How an agent is, for people and for `GET /status`.

use super::Options;
use crate::core::Status;
use serde::Serialize;

/// How an agent is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The name of this PC.
    pub node: String,
    /// In one or two words; the worst that is true.
    pub state: &'static str,
    /// Devices attached.
    pub devices: usize,
    /// Those that are online.
    pub online: usize,
    /// Tasks in execution.
    pub running: usize,
    /// How many may be.
    pub slots: u32,
    /// Tasks that wait for their device or a slot.
    pub queued: usize,
    /// Events that no backend has taken.
    pub spooled: usize,
    /// Whether the last pull was answered.
    pub reachable: bool,
    /// Reports have not reached the backend for a while (N20).
    pub degraded: bool,
}

impl Report {
    pub(super) fn new(options: &Options, status: Status) -> Self {
        Self {
            node: options.node.clone(),
            state: state(&status),
            devices: status.devices,
            online: status.online,
            running: status.running,
            slots: options.slots,
            queued: status.queued,
            spooled: status.spooled,
            reachable: status.reachable,
            degraded: status.degraded,
        }
    }
}

const fn state(status: &Status) -> &'static str {
    match status {
        Status { draining: true, .. } => "draining",
        Status { spool_full: true, .. } => "spool full",
        Status { degraded: true, .. } => "degraded",
        Status { recovering: true, .. } => "recovering",
        Status { reachable: false, .. } => "no answer",
        _ => "ok",
    }
}
