//! Who runs things, and on what.

use crate::Name;
use alloc::collections::BTreeMap;

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
