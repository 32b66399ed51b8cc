//! The real adb server, on a port and in a home of its own.

use crate::{AdbDevice, until};
use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// A server that knows nothing of this machine's devices; ended with the value.
#[derive(Debug)]
pub struct AdbServer {
    child: Child,
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
            let mut server = Self { child: spawn(&home, port), home, port };
            // Somebody else may have taken the port meanwhile.
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
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it anew on the same port. It knows no device then.
    pub fn restart(&mut self) {
        assert!(self.child.try_wait().unwrap().is_some(), "it still runs");
        self.child = spawn(&self.home, self.port);
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
        until(&format!("{handle} {state}"), || listed().then_some(()));
    }

    /// Waits until it lists a handle no more.
    pub fn wait_until_gone(&self, handle: &str) {
        until(&format!("no {handle}"), || (!self.ask("host:devices").contains(handle)).then_some(()));
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

    /// How often [`Self::program`] was run.
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
            if self.child.try_wait().unwrap().is_some() {
                return Some(false);
            }
            self.ask("host:version").starts_with("OKAY").then_some(true)
        })
    }
}

impl Drop for AdbServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // One that a driver started in its place with `program` is nobody's child.
        self.ask("host:kill");
    }
}

fn spawn(home: &TempDir, port: u16) -> Child {
    let mut command = Command::new("adb");
    command.args(["-P", &port.to_string(), "nodaemon", "server"]).envs(environment(home));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("adb is installed: apt-get install adb")
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
