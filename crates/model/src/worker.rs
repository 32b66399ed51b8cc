//! Workers and their devices: presence, labels, supply, and the names of a scope that nobody has.

use crate::Name;
use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

/// Labels of a device: key to value.
pub type Labels = BTreeMap<Name, Name>;

words! {
    /// Presence of a worker.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WorkerStatus {
        /// It spoke within the limit (N15).
        Online = "online",
        /// It fell silent.
        Offline = "offline",
    }
}

words! {
    /// A worker's report of a device attached to it (N1b).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Attachment {
        /// Usable.
        Online = "online",
        /// Attached but unreachable.
        Offline = "offline",
        /// Waiting for somebody to allow debugging on it.
        Unauthorized = "unauthorized",
        /// Its driver reports an error.
        Error = "error",
        /// Missing from the worker's last report.
        Absent = "absent",
    }
}

words! {
    /// Public status of a device (Q15).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LaneStatus {
        /// Usable.
        Online = "ONLINE",
        /// Not attached, not usable, or its worker is silent.
        Offline = "OFFLINE",
        /// Taken out of service after its attempts were used up (Q11).
        Error = "ERROR",
    }
}

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

/// Names in a scope that nobody has now, and the known names instead. A device may still appear (Q6), so this is
/// told and never refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strangers {
    /// Names that nobody has; of labels, `key=value`.
    pub unknown: Vec<Box<str>>,
    /// Names of the same kind that somebody has; only where there are unknown ones.
    pub known: Vec<Box<str>>,
    /// Devices in service that the scope matches now.
    pub targets: u32,
}
