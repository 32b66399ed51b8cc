//! The drivers of the agent against a real adb server and a vendor's program (N13, N18, N23).

mod vendor;

use muster_agent::{
    Attached,
    driver::{
        Cause, StepCall, StepFailure, StepOutput,
        adb::{Adb, AdbSettings},
        vendor::Vendor,
    },
    workflow::{OnFailure, Step, StepKind},
};
use muster_tests::{AdbDevice, AdbServer, wait_until};
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};
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

/// A driver that could start no server of its own.
fn driver(server: &AdbServer) -> Adb {
    let program = "/nonexistent/adb".into();
    Adb::new(AdbSettings { port: server.port(), program, ..AdbSettings::default() })
}

async fn shell(adb: &Adb, device: &AdbDevice, words: &[&str]) -> Result<StepOutput, StepFailure> {
    Order::adb("SER1", &device.handle(), &[&["shell"], words].concat()).by_adb(adb).await
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// N23: a device goes by its serial, however it is reached, and is listed once.
#[tokio::test]
async fn a_device_is_discovered_under_its_serial() {
    let (server, adb) = started();
    assert_eq!(shown(&adb.discover().await.unwrap()), Vec::<String>::new());
    let (one, two) = (AdbDevice::start("SER1"), AdbDevice::old("SER2"));
    let (first, second) = (server.connect(&one), server.connect(&two));
    let expected = [format!("SER1 by {first} Online"), format!("SER2 by {second} Online")];
    assert_eq!(shown(&adb.discover().await.unwrap()), expected);
    server.connect_as("localhost", &one);
    assert_eq!(adb.discover().await.unwrap().len(), 2);
    server.disconnect(&two);
    assert_eq!(adb.discover().await.unwrap().len(), 1);
}

/// N13, N23: a device that has not allowed this PC is told from one that is offline; allowed, it is used.
#[tokio::test]
async fn an_unauthorized_device_needs_authorization() {
    let (server, adb) = started();
    let device = AdbDevice::locked("SER1");
    let handle = server.connect(&device);
    server.wait_for(&handle, "unauthorized");
    assert_eq!(shown(&adb.discover().await.unwrap()), [format!("{handle} by {handle} Unauthorized")]);
    let order = Order::adb(&handle, &handle, &["get-state"]);
    assert_eq!(order.by_adb(&adb).await.unwrap_err().cause, Cause::NeedsUsbAuthorization);
    device.allow();
    server.wait_for(&handle, "device");
    assert_eq!(shown(&adb.discover().await.unwrap()), [format!("SER1 by {handle} Online")]);
    let order = Order::adb("SER1", &handle, &["get-state"]);
    assert_eq!(order.by_adb(&adb).await.unwrap().text.as_deref(), Some("device"));
}

/// N13, N23: a device that is gone is offline, and still goes by its serial.
#[tokio::test]
async fn a_device_that_is_gone_is_offline() {
    let (server, adb) = started();
    let device = AdbDevice::start("SER1");
    let handle = server.connect(&device);
    assert_eq!(adb.discover().await.unwrap().len(), 1);
    device.vanish();
    server.wait_for(&handle, "offline");
    assert_eq!(shown(&adb.discover().await.unwrap()), [format!("SER1 by {handle} Offline")]);
    assert_eq!(shell(&adb, &device, &["echo"]).await.unwrap_err().cause, Cause::AdbOffline);
    server.disconnect(&device);
    let failure = shell(&adb, &device, &["echo"]).await.unwrap_err();
    assert_eq!(failure.cause, Cause::AdbOffline, "{failure}");
}

/// N22, N23: words arrive as they are, with the second shell protocol and without; the exit code decides.
#[tokio::test]
async fn a_program_runs_with_its_words_and_its_exit_code() {
    for device in [AdbDevice::start("SER1"), AdbDevice::old("SER1")] {
        let (server, adb) = started();
        server.connect(&device);
        let hostile = ["echo", "two  words", "; reboot", "$(id)", "it's", ""];
        let output = shell(&adb, &device, &hostile).await.unwrap();
        assert_eq!(output.text.as_deref(), Some("two  words ; reboot $(id) it's "));
        assert!(device.ran().contains(&words(&hostile)), "{:?}", device.ran());
        assert!(!device.ran().iter().any(|ran| ran[0] == "reboot"));
        shell(&adb, &device, &["input", "tap", "10", "20"]).await.unwrap();
        assert!(device.ran().contains(&words(&["input", "tap", "10", "20"])));

        for (command, complaint) in [
            (&["exit", "7"][..], "exit exited with 7: "),
            (&["cat", "/secret"], "cat exited with 1: cat: /secret: No such file or directory"),
            (&["frobnicate"], "frobnicate exited with 127: sh: frobnicate: not found"),
        ] {
            let failure = shell(&adb, &device, command).await.unwrap_err();
            assert_eq!((failure.cause, failure.message.as_str()), (Cause::Other, complaint));
        }
    }
}

/// N23: output of many messages is kept, its end if it is too much.
#[tokio::test]
async fn long_output_arrives() {
    for device in [AdbDevice::start("SER1"), AdbDevice::old("SER1")] {
        let (server, adb) = started();
        let handle = server.connect(&device);
        let long = "0123456789".repeat(2500);
        assert_eq!(shell(&adb, &device, &["echo", &long]).await.unwrap().text, Some(long.clone()));
        let order = Order::adb("SER1", &handle, &["exec-out", "echo", &long]);
        assert_eq!(order.by_adb(&adb).await.unwrap().text, Some(long));
    }
}

/// N12, N23: a screenshot is kept byte for byte.
#[tokio::test]
async fn a_screenshot_is_what_the_device_sent() {
    for device in [AdbDevice::start("SER1"), AdbDevice::old("SER1")] {
        let (server, adb) = started();
        let order = Order::adb("SER1", &server.connect(&device), &["exec-out", "screencap", "-p"]);
        let file = order.by_adb(&adb).await.unwrap().file.unwrap();
        assert_eq!((file.kind.as_str(), file.content_type.as_str()), ("screenshot", "image/png"));
        assert_eq!(file.path.parent(), Some(order.scratch.path()));
        assert!(std::fs::read(&file.path).unwrap() == device.screen(), "the picture is another");
    }
}

/// N13: what is no picture is an error, and no file is left.
#[tokio::test]
async fn a_screenshot_that_is_none_is_an_error() {
    let (server, adb) = started();
    let device = AdbDevice::start("SER1");
    let order = Order::adb("SER1", &server.connect(&device), &["exec-out", "screencap", "-p"]);
    let whole = device.screen();
    for (screen, complaint) in [
        (&b""[..], "screencap gave no PNG: nothing at all"),
        (b"Killed", "screencap gave no PNG: it begins with \"Killed\""),
        (&whole[..5000], "screencap gave no PNG: it is cut off after 5000 bytes"),
    ] {
        device.set_screen(screen);
        let failure = order.by_adb(&adb).await.unwrap_err();
        assert_eq!((failure.cause, failure.message.as_str()), (Cause::Other, complaint));
        assert_eq!(std::fs::read_dir(order.scratch.path()).unwrap().count(), 0);
    }
}

/// N18: a cancelled step ends on the device too.
#[tokio::test(flavor = "multi_thread")]
async fn cancelling_ends_what_runs_on_the_device() {
    for device in [AdbDevice::start("SER1"), AdbDevice::old("SER1")] {
        for verb in ["shell", "exec-out"] {
            let (server, adb) = started();
            let order = Order::adb("SER1", &server.connect(&device), &[verb, "sleep", "forever"]);
            let cancel = order.cancel.clone();
            let step = tokio::spawn(async move { order.by_adb(&adb).await });
            wait_until("the command", || device.running() == 1);
            cancel.cancel();
            assert_eq!(step.await.unwrap().unwrap_err().cause, Cause::Cancelled);
            wait_until("the end of the command", || device.running() == 0);
        }
    }
}

/// N13: a device that vanishes under a command is offline, whatever the command.
#[tokio::test(flavor = "multi_thread")]
async fn a_device_that_vanishes_midway_is_offline() {
    for verb in ["shell", "exec-out"] {
        let (server, adb) = started();
        let device = AdbDevice::start("SER1");
        let order = Order::adb("SER1", &server.connect(&device), &[verb, "sleep", "forever"]);
        let step = tokio::spawn(async move { order.by_adb(&adb).await });
        wait_until("the command", || device.running() == 1);
        device.vanish();
        let failure = step.await.unwrap().unwrap_err();
        assert_eq!(failure.cause, Cause::AdbOffline, "{failure}");
    }
}

/// N13: an adb server that dies midway is missed, and used again when it is back.
#[tokio::test(flavor = "multi_thread")]
async fn the_death_of_the_server_is_survived() {
    let mut server = AdbServer::start();
    let adb = Arc::new(driver(&server));
    let device = AdbDevice::start("SER1");
    let order = Order::adb("SER1", &server.connect(&device), &["shell", "sleep", "forever"]);
    let stepping = Arc::clone(&adb);
    let step = tokio::spawn(async move { order.by_adb(&stepping).await });
    wait_until("the command", || device.running() == 1);
    server.kill9();
    let failure = step.await.unwrap().unwrap_err();
    // While it dies it may still take a connection, only to lose it.
    assert!(matches!(failure.cause, Cause::AdbMissing | Cause::AdbOffline), "{failure}");
    assert_eq!(adb.discover().await.unwrap_err().cause, Cause::AdbMissing);

    server.restart();
    assert_eq!(shell(&adb, &device, &["echo"]).await.unwrap_err().cause, Cause::AdbOffline);
    server.connect(&device);
    shell(&adb, &device, &["echo"]).await.unwrap();
    assert_eq!(shown(&adb.discover().await.unwrap()), [format!("SER1 by {} Online", device.handle())]);
}

/// N23: where there is no server, one is started, once for all that need it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_started_where_there_is_none() {
    let mut server = AdbServer::start();
    server.kill9();
    let (port, program) = (server.port(), server.program());
    let adb = Arc::new(Adb::new(AdbSettings { port, program, ..AdbSettings::default() }));
    let looks: Vec<_> = (0..5)
        .map(|_| Arc::clone(&adb))
        .map(|adb| tokio::spawn(async move { adb.discover().await }))
        .collect();
    for look in looks {
        assert_eq!(shown(&look.await.unwrap().unwrap()), Vec::<String>::new());
    }
    assert_eq!(server.times_started(), 1);
    let device = AdbDevice::start("SER1");
    server.connect(&device);
    shell(&adb, &device, &["echo"]).await.unwrap();
}

/// N18: many steps at once keep their answers apart.
#[tokio::test(flavor = "multi_thread")]
async fn many_devices_are_driven_at_once() {
    let (server, adb) = started();
    let adb = Arc::new(adb);
    let devices: Vec<_> = (0..10).map(|number| AdbDevice::start(&format!("SER{number}"))).collect();
    let mut steps = Vec::new();
    for (number, device) in devices.iter().enumerate() {
        let (handle, serial) = (server.connect(device), format!("SER{number}"));
        for command in [&["shell", "getprop", "ro.serialno"][..], &["exec-out", "screencap", "-p"]] {
            let (adb, order) = (Arc::clone(&adb), Order::adb(&serial, &handle, command));
            steps.push((number, tokio::spawn(async move { (order.by_adb(&adb).await.unwrap(), order) })));
        }
    }
    for (number, step) in steps {
        match step.await.unwrap() {
            (StepOutput { text: Some(text), .. }, _) => assert_eq!(text, format!("SER{number}")),
            (StepOutput { file, .. }, _order) => {
                assert!(std::fs::read(file.unwrap().path).unwrap() == devices[number].screen());
            }
        }
    }
}

fn started() -> (AdbServer, Adb) {
    let server = AdbServer::start();
    let adb = driver(&server);
    (server, adb)
}
