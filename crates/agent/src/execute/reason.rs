//! The contract's word for a failure (N13).

use crate::driver::Cause;
use crate::workflow::{Step, StepKind, reason_named};
use muster_model::FailureReason;
use serde_json::Value;

/// Finds it: what the driver could tell counts first, then what the step says of itself, then which step it was.
pub(super) fn of(step: &Step, cause: Cause, timed_out: bool) -> FailureReason {
    match cause {
        Cause::NeedsUsbAuthorization => FailureReason::NeedsUsbAuthorization,
        Cause::AdbOffline => FailureReason::AdbOffline,
        Cause::AdbMissing => FailureReason::AdbMissing,
        Cause::VendorWs => FailureReason::VendorWsError,
        Cause::VendorCommand => FailureReason::VendorCommandError,
        Cause::EmulatorNotOnline => FailureReason::EmulatorNotOnline,
        Cause::EmulatorNotBooted => FailureReason::EmulatorNotBooted,
        Cause::Named(reason) => reason,
        Cause::Cancelled | Cause::Other => of_step(step, timed_out),
    }
}

fn of_step(step: &Step, timed_out: bool) -> FailureReason {
    let named = step.params.get("failure_reason").and_then(Value::as_str).and_then(reason_named);
    let usual = match (step.id.as_str(), step.kind) {
        ("BOOTSTRAP", _) => FailureReason::BootstrapCriticalFailed,
        ("LOGIN_FLOW", _) if timed_out => FailureReason::LoginFlowTimeout,
        ("SCREENSHOT", _) => FailureReason::ScreenshotError,
        ("UPLOAD", _) | (_, StepKind::Upload) => FailureReason::UploadError,
        _ => FailureReason::Unknown,
    };
    named.unwrap_or(usual)
}
