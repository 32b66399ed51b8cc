//! What is to be done and how it ends.

use crate::{Labels, Name, Timestamp};
use alloc::{boxed::Box, collections::BTreeSet};

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobStatus {
    /// Behind older jobs of its queue.
    Pending,
    /// The one its queue serves now.
    Running,
    /// Ended, and at least one task completed.
    Success,
    /// Ended, and none completed.
    Failed,
    /// Ended on request.
    Cancelled,
}

impl JobStatus {
    /// Whether nothing will change any more.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Success | Self::Failed | Self::Cancelled)
    }

    /// The value of `tasks.status`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// How much of a job was done (Q7b).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobOutcome {
    /// The job has not ended.
    Open,
    /// Every task completed.
    Complete,
    /// Some tasks completed and some did not.
    Partial,
    /// No task completed.
    Failed,
    /// The job was cancelled.
    Cancelled,
}

impl JobOutcome {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Open, Self::Complete, Self::Partial, Self::Failed, Self::Cancelled];

    /// The outcome of a job with this status, of whose tasks so many completed.
    #[must_use]
    pub const fn of(status: JobStatus, tasks: u32, completed: u32) -> Self {
        match status {
            JobStatus::Pending | JobStatus::Running => Self::Open,
            JobStatus::Success if completed < tasks => Self::Partial,
            JobStatus::Success => Self::Complete,
            JobStatus::Failed => Self::Failed,
            JobStatus::Cancelled => Self::Cancelled,
        }
    }

    /// The value of `tasks.outcome`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskStatus {
    /// Waiting for another attempt.
    Pending,
    /// Leased out.
    Running,
    /// Ended well.
    Completed,
    /// Ended badly, attempts used up.
    Failed,
    /// Ended on request, or because its device stayed away.
    Cancelled,
}

impl TaskStatus {
    /// Whether nothing will change any more.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The value of `task_devices.status`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Which devices a job is for, judged anew while it is active (Q6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every device.
    All,
    /// The devices of these workers.
    Workers(BTreeSet<Name>),
    /// These devices.
    Devices(BTreeSet<Name>),
    /// The devices that carry all of these labels.
    Labels(Labels),
}

/// What keeps a lease alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseKind {
    /// Any sign of life of its worker (N15b).
    Presence,
    /// Explicit renewal of this one lease (Q14).
    Claim,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The worker reported success.
    Succeeded,
    /// The worker reported failure.
    Failed {
        /// The cause, where the contract has a word for it.
        reason: Option<FailureReason>,
        /// What people read.
        error: Option<Box<str>>,
    },
    /// The attempt took longer than allowed (Q9).
    TimedOut,
    /// The lease ended because its holder fell silent or did not renew it (N15b, Q14): a timeout, too (Q9b).
    LeaseLost,
}

impl Outcome {
    /// Whether the attempt ended by a timeout of any kind (Q9, Q9b).
    #[must_use]
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut | Self::LeaseLost)
    }
}

/// The causes of failure that a node can name (N13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is the contract's own word")]
pub enum FailureReason {
    NeedsUsbAuthorization,
    AdbOffline,
    AdbMissing,
    VendorWsError,
    VendorCommandError,
    BootstrapCriticalFailed,
    LoginFlowTimeout,
    ScreenshotError,
    UploadError,
    CallbackError,
    EmulatorNotOnline,
    EmulatorNotBooted,
    Unknown,
}

impl FailureReason {
    /// All of them, in the contract's order.
    pub const ALL: [Self; 13] = [
        Self::NeedsUsbAuthorization,
        Self::AdbOffline,
        Self::AdbMissing,
        Self::VendorWsError,
        Self::VendorCommandError,
        Self::BootstrapCriticalFailed,
        Self::LoginFlowTimeout,
        Self::ScreenshotError,
        Self::UploadError,
        Self::CallbackError,
        Self::EmulatorNotOnline,
        Self::EmulatorNotBooted,
        Self::Unknown,
    ];

    /// The word that stands in `failure_reason` and in `task_devices.error`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NeedsUsbAuthorization => "needs_usb_authorization",
            Self::AdbOffline => "adb_offline",
            Self::AdbMissing => "adb_missing",
            Self::VendorWsError => "vendor_ws_error",
            Self::VendorCommandError => "vendor_command_error",
            Self::BootstrapCriticalFailed => "bootstrap_critical_failed",
            Self::LoginFlowTimeout => "login_flow_timeout",
            Self::ScreenshotError => "screenshot_error",
            Self::UploadError => "upload_error",
            Self::CallbackError => "callback_error",
            Self::EmulatorNotOnline => "emulator_not_online",
            Self::EmulatorNotBooted => "emulator_not_booted",
            Self::Unknown => "unknown",
        }
    }
}

/// A stretch of a task that its worker told us about (N11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// `PREFLIGHT`, `LOGIN_FLOW`, … or the workflow's own.
    pub name: Name,
    /// Begun or done.
    pub status: StepStatus,
    /// By the worker's clock.
    pub at: Timestamp,
}

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// Begun.
    Running,
    /// Over.
    Done,
}
