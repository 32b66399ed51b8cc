//! The drivers of the agent against a real adb server and a vendor's program (N13, N18, N23).

mod adb;
mod vendor;

use adb::started;
use muster_agent::{
    Attached,
    driver::{Cause, StepCall, StepFailure, StepOutput, adb::Adb, vendor::Vendor},
    workflow::{OnFailure, Step, StepKind},
};
use muster_tests::AdbDevice;
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

/// N13, N23: an emulator is used when it has booted, and its loss has a name of its own.
#[tokio::test]
async fn an_emulator_is_used_when_it_has_booted() {
    let (server, adb) = started();
    let device = AdbDevice::start("LAB-7");
    let handle = server.connect_emulator(&device);
    server.wait_for(&handle, "device");
    assert_eq!(shown(&adb.discover().await.unwrap()), [format!("LAB-7 by {handle} Online")]);
    let order = Order::adb("LAB-7", &handle, &["get-state"]);
    assert_eq!(order.by_adb(&adb).await.unwrap_err().cause, Cause::EmulatorNotBooted);
    device.set_prop("sys.boot_completed", "1");
    order.by_adb(&adb).await.unwrap();
    drop(device);
    server.wait_until_gone(&handle);
    assert_eq!(order.by_adb(&adb).await.unwrap_err().cause, Cause::EmulatorNotOnline);
}

/// N13, N23: an emulator that does not come up goes by its handle.
#[tokio::test]
async fn an_emulator_that_does_not_come_up_is_not_online() {
    let (server, adb) = started();
    let device = AdbDevice::silent();
    let handle = server.connect_emulator(&device);
    server.wait_for(&handle, "offline");
    assert_eq!(shown(&adb.discover().await.unwrap()), [format!("{handle} by {handle} Offline")]);
    let order = Order::adb(&handle, &handle, &["get-state"]);
    assert_eq!(order.by_adb(&adb).await.unwrap_err().cause, Cause::EmulatorNotOnline);
}

/// N18, N23: emulators of one version say the same serial and are several devices; one is not two by its address.
#[tokio::test]
async fn emulators_of_one_version_are_several_devices() {
    let (server, adb) = started();
    let devices = [AdbDevice::start("EMULATOR31X3X11X0"), AdbDevice::start("EMULATOR31X3X11X0")];
    let mut expected = Vec::new();
    for device in &devices {
        device.set_prop("ro.boot.serialno", "EMULATOR31X3X11X0");
        let handle = server.connect_emulator(device);
        server.wait_for(&handle, "device");
        server.connect(device);
        expected.push(format!("{handle} by {handle} Online"));
        device.set_prop("sys.boot_completed", "1");
        Order::adb(&handle, &handle, &["get-state"]).by_adb(&adb).await.unwrap();
    }
    expected.sort();
    assert_eq!(shown(&adb.discover().await.unwrap()), expected);
}
