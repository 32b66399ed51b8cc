//! Emulators.

use crate::{Order, adb::started, shown};
use muster_agent::driver::Cause;
use muster_tests::AdbDevice;

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
