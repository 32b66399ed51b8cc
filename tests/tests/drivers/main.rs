//! The agent's device drivers against the real adb server and a vendor's program.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod adb;
mod emulator;
mod vendor;

use muster_agent::{
    Attached,
    driver::{StepCall, StepFailure, StepOutput, adb::Adb, vendor::Vendor},
    workflow::{OnFailure, Step, StepKind},
};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A step to be done on a device, and all it needs.
struct Order {
    device: String,
    handle: String,
    step: Step,
    params: Value,
    scratch: TempDir,
    cancel: CancellationToken,
}

impl Order {
    fn adb(device: &str, handle: &str, command: &[&str]) -> Self {
        let mut order = Self::new(device, handle, StepKind::Adb);
        order.step.command = command.iter().map(|word| (*word).to_owned()).collect();
        order
    }

    fn vendor(handle: &str, action: &str, params: &[(&str, Value)]) -> Self {
        let mut order = Self::new("SER1", handle, StepKind::Vendor);
        order.step.action = Some(action.to_owned());
        order.step.params = params.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        order
    }

    fn new(device: &str, handle: &str, kind: StepKind) -> Self {
        let step = Step {
            id: "STEP".to_owned(),
            kind,
            command: Vec::new(),
            action: None,
            params: Map::new(),
            timeout: Duration::from_secs(60),
            on_failure: OnFailure::Stop,
            retries: 0,
        };
        Self {
            device: device.to_owned(),
            handle: handle.to_owned(),
            step,
            params: json!({}),
            scratch: tempfile::tempdir().unwrap(),
            cancel: CancellationToken::new(),
        }
    }

    async fn by_adb(&self, adb: &Adb) -> Result<StepOutput, StepFailure> {
        adb.perform(&self.call()).await
    }

    async fn by_vendor(&self, vendor: &Vendor) -> Result<StepOutput, StepFailure> {
        vendor.perform(&self.call()).await
    }

    fn call(&self) -> StepCall<'_> {
        StepCall {
            device: &self.device,
            handle: &self.handle,
            step: &self.step,
            params: &self.params,
            attempt: 1,
            scratch: self.scratch.path(),
            cancel: &self.cancel,
        }
    }
}

/// A list of devices, as lines.
fn shown(devices: &[Attached]) -> Vec<String> {
    let show = |seen: &Attached| format!("{} by {} {:?}", seen.device, seen.handle, seen.attachment);
    devices.iter().map(show).collect()
}
