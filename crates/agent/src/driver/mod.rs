//! Drivers, which reach devices (N23). One file or folder each; [`crate::execute`] chooses among them.

pub mod adb;
pub mod command;
pub mod fleet;
pub mod simulated;
pub mod vendor;

pub use fleet::{DeviceSource, Fleet};

use crate::workflow::Step;
use muster_model::FailureReason;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// One step to be done on one device.
#[derive(Clone, Copy, Debug)]
pub struct StepCall<'a> {
    /// The device's immutable serial.
    pub device: &'a str,
    /// Whatever reaches it now.
    pub handle: &'a str,
    /// The step, with the run's parameters already put in.
    pub step: &'a Step,
    /// The run's parameters.
    pub params: &'a Value,
    /// The nth try of the task.
    pub attempt: u32,
    /// A directory of this task alone; emptied when it ends.
    pub scratch: &'a Path,
    /// Asks the driver to end. It must return soon after, and only when nothing that it began runs any more.
    pub cancel: &'a CancellationToken,
}

/// Output of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepOutput {
    /// Its output or response, for `assert` and for people.
    pub text: Option<String>,
    /// A file for a later upload, inside `scratch`.
    pub file: Option<ProducedFile>,
}

/// A file for a later upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProducedFile {
    /// Its path.
    pub path: PathBuf,
    /// Such as `screenshot`.
    pub kind: String,
    /// Such as `image/png`.
    pub content_type: String,
}

/// Failure of a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StepFailure {
    /// The cause, as far as the driver can tell.
    pub cause: Cause,
    /// For people.
    pub message: String,
}

/// Cause of a failure as the driver sees it; [`crate::execute`] derives a reason of N13 from it and from the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The device has not allowed this PC to debug it.
    NeedsUsbAuthorization,
    /// adb does not reach the device.
    AdbOffline,
    /// There is no adb on this PC.
    AdbMissing,
    /// The vendor's control channel does not work.
    VendorWs,
    /// The vendor's program refused the command.
    VendorCommand,
    /// The emulator is not there.
    EmulatorNotOnline,
    /// The emulator has not finished booting.
    EmulatorNotBooted,
    /// A reason that the contract already has a word for.
    Named(FailureReason),
    /// `cancel` was asked for.
    Cancelled,
    /// Anything else: a program that failed, an answer that was not as expected.
    Other,
}

impl StepFailure {
    /// A failure of which nothing more is known than what went wrong.
    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self { cause: Cause::Other, message: message.into() }
    }

    /// The answer to `cancel`.
    pub(crate) fn cancelled() -> Self {
        Self { cause: Cause::Cancelled, message: "cancelled".to_owned() }
    }
}
