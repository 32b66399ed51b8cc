//! Who runs things, and on what.

use crate::Name;
use alloc::collections::BTreeMap;

/// Labels of a device: key to value.
pub type Labels = BTreeMap<Name, Name>;

/// Whether we heard of a worker lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerStatus {
    /// It spoke within the limit (N15).
    Online,
    /// It fell silent.
    Offline,
}

/// What a worker says of a device attached to it (N1b).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// Usable.
    Online,
    /// Attached but unreachable.
    Offline,
    /// Waiting for somebody to allow debugging on it.
    Unauthorized,
    /// Its driver reports an error.
    Error,
    /// Missing from the worker's last report.
    Absent,
}

/// What outsiders see of a device (Q15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneStatus {
    /// Usable.
    Online,
    /// Not attached, not usable, or its worker is silent.
    Offline,
    /// Taken out of service after its attempts were used up (Q11).
    Error,
}

impl WorkerStatus {
    /// The value of `pcs.status`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Offline => "offline",
        }
    }
}

impl Attachment {
    /// The value of `devices.attachment`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Offline => "offline",
            Self::Unauthorized => "unauthorized",
            Self::Error => "error",
            Self::Absent => "absent",
        }
    }
}

impl LaneStatus {
    /// The value of `devices.status`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Online => "ONLINE",
            Self::Offline => "OFFLINE",
            Self::Error => "ERROR",
        }
    }
}
