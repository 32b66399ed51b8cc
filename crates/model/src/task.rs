//! Jobs and tasks: scopes, statuses, outcomes.

use crate::{Labels, Name, Timestamp};
use alloc::{boxed::Box, collections::BTreeSet};

words! {
    /// Status of a job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum JobStatus {
        /// Behind older jobs of its queue.
        Pending = "pending",
        /// The one its queue serves now.
        Running = "running",
        /// Ended, and at least one task completed.
        Success = "success",
        /// Ended, and none completed.
        Failed = "failed",
        /// Ended on request.
        Cancelled = "cancelled",
    }
}

impl JobStatus {
    /// True if nothing will change any more.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Success | Self::Failed | Self::Cancelled)
    }
}

words! {
    /// Outcome of a job: all, some or none of its devices were done (Q7b).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum JobOutcome {
        /// The job has not ended.
        Open = "open",
        /// Every task completed.
        Complete = "complete",
        /// Some tasks completed and some did not.
        Partial = "partial",
        /// No task completed.
        Failed = "failed",
        /// The job was cancelled.
        Cancelled = "cancelled",
    }
}

impl JobOutcome {
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
}

words! {
    /// Status of a task.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum TaskStatus {
        /// Waiting for another attempt.
        Pending = "pending",
        /// Leased out.
        Running = "running",
        /// Ended well.
        Completed = "completed",
        /// Ended badly, attempts used up.
        Failed = "failed",
        /// Ended on request, or because its device stayed away.
        Cancelled = "cancelled",
    }
}

impl TaskStatus {
    /// True if nothing will change any more.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// Devices that a job is for, judged anew while it is active (Q6).
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

words! {
    /// Source of a lease's renewal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LeaseKind {
        /// Any sign of life of its worker (N15b).
        Presence = "presence",
        /// Explicit renewal of this one lease (Q14).
        Claim = "claim",
    }
}

/// Outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The worker reported success.
    Succeeded,
    /// The worker reported failure.
    Failed {
        /// The cause, where the contract has a word for it.
        reason: Option<FailureReason>,
        /// Text for people.
        error: Option<Box<str>>,
    },
    /// The attempt took longer than allowed (Q9).
    TimedOut,
    /// The lease ended because its holder fell silent or did not renew it (N15b, Q14): a timeout, too (Q9b).
    LeaseLost,
}

impl Outcome {
    /// True if the attempt ended by a timeout of any kind (Q9, Q9b).
    #[must_use]
    pub const fn is_timeout(&self) -> bool {
        matches!(self, Self::TimedOut | Self::LeaseLost)
    }
}

words! {
    /// The causes of failure that a node can name (N13).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[allow(missing_docs, reason = "each is the contract's own word")]
    pub enum FailureReason {
        NeedsUsbAuthorization = "needs_usb_authorization",
        AdbOffline = "adb_offline",
        AdbMissing = "adb_missing",
        VendorWsError = "vendor_ws_error",
        VendorCommandError = "vendor_command_error",
        BootstrapCriticalFailed = "bootstrap_critical_failed",
        LoginFlowTimeout = "login_flow_timeout",
        ScreenshotError = "screenshot_error",
        UploadError = "upload_error",
        CallbackError = "callback_error",
        EmulatorNotOnline = "emulator_not_online",
        EmulatorNotBooted = "emulator_not_booted",
        Unknown = "unknown",
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

/// Status of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// Begun.
    Running,
    /// Over.
    Done,
}
