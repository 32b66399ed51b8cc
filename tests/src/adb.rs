//! The real adb server, on a port and in a home of its own, and a device that it connects to over TCP.
//!
//! [`AdbDevice`] speaks adbd's side of the protocol, as far as tests need it: it introduces itself, asks for
//! authorisation if it is told to, and runs a few programs through `shell:`, `shell,v2:` and `exec:`.

mod link;

use crate::{Process, stand_in::Port, until, wait_until};
use link::Link;
use std::{
    collections::HashMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};
use tempfile::TempDir;

/// A server that knows nothing of this machine's devices; ended with the value.
#[derive(Debug)]
pub struct AdbServer {
    process: Process,
    home: TempDir,
    port: u16,
}

impl AdbServer {
    /// Starts one and waits until it answers.
    #[must_use]
    pub fn start() -> Self {
        loop {
            let home = tempfile::tempdir().unwrap();
            let port = free_port();
            let mut server = Self { process: start(&home, port), home, port };
            // Another process may have taken the port meanwhile.
            if server.is_up() {
                return server;
            }
        }
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends it as no process can prevent.
    pub fn kill9(&mut self) {
        self.process.kill9();
    }

    /// Starts it anew on the same port. It knows no device then.
    pub fn restart(&mut self) {
        self.process.start_again(command(&self.home, self.port));
        assert!(self.is_up(), "the adb server has ended");
    }

    /// Connects a device by its address and gives its handle.
    pub fn connect(&self, device: &AdbDevice) -> String {
        self.connect_as("127.0.0.1", device)
    }

    /// Connects a device by another name of this machine and gives its handle.
    pub fn connect_as(&self, host: &str, device: &AdbDevice) -> String {
        let handle = format!("{host}:{}", device.port());
        self.ask(&format!("host:connect:{handle}"));
        handle
    }

    /// Forgets the connection to a device.
    pub fn disconnect(&self, device: &AdbDevice) {
        self.ask(&format!("host:disconnect:{}", device.handle()));
    }

    /// Takes a device for an emulator that has just started, and gives its handle.
    pub fn connect_emulator(&self, device: &AdbDevice) -> String {
        self.ask(&format!("host:emulator:{}", device.port()));
        format!("emulator-{}", device.port() - 1)
    }

    /// Waits until it lists a handle in a state.
    pub fn wait_for(&self, handle: &str, state: &str) {
        let listed = || self.ask("host:devices").contains(&format!("{handle}\t{state}\n"));
        wait_until(&format!("{handle} {state}"), listed);
    }

    /// Waits until it lists a handle no more.
    pub fn wait_until_gone(&self, handle: &str) {
        wait_until(&format!("no {handle}"), || !self.ask("host:devices").contains(handle));
    }

    /// A program that runs adb in this server's home, away from the devices of this machine.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        let path = self.home.path().join("adb");
        let variables = environment(&self.home).map(|(name, value)| format!("export {name}='{value}'\n"));
        let count = "echo \"$@\" >>\"$HOME/started\"\n";
        std::fs::write(&path, format!("#!/bin/sh\n{}{count}exec adb \"$@\"\n", variables.concat())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Number of times that [`Self::program`] was run.
    #[must_use]
    pub fn times_started(&self) -> usize {
        std::fs::read_to_string(self.home.path().join("started")).map_or(0, |text| text.lines().count())
    }

    /// Sends a request and gives whatever comes back.
    fn ask(&self, request: &str) -> String {
        let mut answer = Vec::new();
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = stream.write_all(format!("{:04x}{request}", request.len()).as_bytes());
            let _ = stream.read_to_end(&mut answer);
        }
        String::from_utf8(answer).unwrap()
    }

    /// Waits until it answers, or has ended.
    fn is_up(&mut self) -> bool {
        until("an answer of the adb server", || {
            if self.process.ended().is_some() {
                return Some(false);
            }
            self.ask("host:version").starts_with("OKAY").then_some(true)
        })
    }
}

impl Drop for AdbServer {
    fn drop(&mut self) {
        if self.process.ended().is_none() {
            self.process.kill9();
        }
        // Ask by protocol as well, because a server that a driver started in its place with `program` is not our child.
        self.ask("host:kill");
    }
}

fn start(home: &TempDir, port: u16) -> Process {
    Process::start("the adb server", home.path().join("server.log"), command(home, port))
}

fn command(home: &TempDir, port: u16) -> Command {
    let mut command = Command::new("adb");
    command.args(["-P", &port.to_string(), "nodaemon", "server"]).envs(environment(home));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Keys and logs in its own directory; no look at USB, at local emulators or around the network.
fn environment(home: &TempDir) -> [(&'static str, String); 5] {
    let home = home.path().to_str().unwrap().to_owned();
    let off = || "0".to_owned();
    [("HOME", home.clone()), ("TMPDIR", home), ("ADB_USB", off()), ("ADB_EMU", off()), ("ADB_MDNS", off())]
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A device on a port of its own; gone with the value.
#[derive(Debug)]
pub struct AdbDevice {
    port: Port,
    shared: Arc<Shared>,
}

/// Behaviour of a device towards adb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It introduces itself: `device`.
    Open,
    /// It asks for a key that nobody has allowed: `unauthorized`.
    Locked,
    /// It takes connections and says nothing: `offline`, or, once it was online, a device that hangs.
    Silent,
}

/// State that the device's threads share.
#[derive(Debug)]
struct Shared {
    version: u32,
    features: Vec<&'static str>,
    manner: Mutex<Manner>,
    props: Mutex<HashMap<String, String>>,
    screen: Mutex<Vec<u8>>,
    ran: Mutex<Vec<Vec<String>>>,
    running: AtomicUsize,
}

impl AdbDevice {
    /// Starts a device of today.
    #[must_use]
    pub fn start(serial: &str) -> Self {
        Self::with(serial, Manner::Open, 0x0100_0001, vec!["shell_v2", "cmd"])
    }

    /// Starts a device from before the second shell protocol.
    #[must_use]
    pub fn old(serial: &str) -> Self {
        Self::with(serial, Manner::Open, 0x0100_0000, vec!["cmd"])
    }

    /// Starts a device that nobody has allowed this PC to debug.
    #[must_use]
    pub fn locked(serial: &str) -> Self {
        Self::with(serial, Manner::Locked, 0x0100_0001, vec!["shell_v2", "cmd"])
    }

    /// Starts a device that takes connections and says nothing.
    #[must_use]
    pub fn silent() -> Self {
        Self::with("", Manner::Silent, 0x0100_0001, vec![])
    }

    fn with(serial: &str, manner: Manner, version: u32, features: Vec<&'static str>) -> Self {
        let props = HashMap::from([("ro.serialno".to_owned(), serial.to_owned())]);
        let shared = Arc::new(Shared {
            version,
            features,
            manner: Mutex::new(manner),
            props: Mutex::new(props),
            screen: Mutex::new(link::noise(DEVICES.fetch_add(1, Ordering::Relaxed))),
            ran: Mutex::default(),
            running: AtomicUsize::new(0),
        });
        let device = Arc::clone(&shared);
        Self { port: Port::open(move |stream| Link::new(stream, Arc::clone(&device)).serve()), shared }
    }

    /// Address that it listens on, which is also its name in adb.
    #[must_use]
    pub fn handle(&self) -> String {
        self.port.address().to_string()
    }

    /// The port it listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.address().port()
    }

    /// Sets a property.
    pub fn set_prop(&self, name: &str, value: &str) {
        self.shared.props.lock().unwrap().insert(name.to_owned(), value.to_owned());
    }

    /// Output of `screencap -p`.
    #[must_use]
    pub fn screen(&self) -> Vec<u8> {
        self.shared.screen.lock().unwrap().clone()
    }

    /// Changes what `screencap -p` gives.
    pub fn set_screen(&self, bytes: &[u8]) {
        *self.shared.screen.lock().unwrap() = bytes.to_vec();
    }

    /// Every command it was told to run, word by word.
    #[must_use]
    pub fn ran(&self) -> Vec<Vec<String>> {
        self.shared.ran.lock().unwrap().clone()
    }

    /// Number of running commands that only end when closed.
    #[must_use]
    pub fn running(&self) -> usize {
        self.shared.running.load(Ordering::SeqCst)
    }

    /// Behaves otherwise from now on; connections stay as they are.
    pub fn set_manner(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap() = manner;
    }

    /// Ends every connection, as a pulled cable does, and answers none that follows.
    pub fn vanish(&self) {
        self.set_manner(Manner::Silent);
        self.port.hang_up();
    }

    /// Allows the PC that asks, as a finger on the screen does.
    pub fn allow(&self) {
        self.set_manner(Manner::Open);
        for link in self.port.links().iter_mut() {
            let _ = link::introduce(&self.shared, link);
        }
    }
}

impl Shared {
    fn manner(&self) -> Manner {
        *self.manner.lock().unwrap()
    }

    fn has(&self, feature: &str) -> bool {
        self.features.contains(&feature)
    }
}

/// Devices that were started; each has a picture of its own.
static DEVICES: AtomicU64 = AtomicU64::new(1);
