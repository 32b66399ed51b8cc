//! Processes that a measurement starts, and connections to them.

use crate::{cost::tree, stopwatch::now};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// A process and its descendants; they are ended when it is dropped, and its directory is removed.
pub(crate) struct Process {
    pub(super) child: Child,
    _data: Option<TempDir>,
}

impl Process {
    /// Starts a server that says nothing.
    pub(super) fn start(command: &mut Command, data: Option<TempDir>) -> Result<Self, String> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Self::of(child, data))
    }

    /// Takes over a process that was started.
    pub(super) fn of(child: Child, data: Option<TempDir>) -> Self {
        Self { child, _data: data }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until something listens there.
    pub(super) fn wait_for(&self, address: SocketAddr) -> Result<(), String> {
        let begun = now();
        while TcpStream::connect(address).is_err() {
            if begun.elapsed() > PATIENCE {
                return Err(format!("nothing listened on {address} after {} s", PATIENCE.as_secs()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        for id in tree(&[self.child.id()]) {
            if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
                // It may have ended by itself.
                let _ = kill_process(id, Signal::KILL);
            }
        }
        let _ = self.child.wait();
    }
}

/// A directory for a server's data.
pub(super) fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// An address on loopback that nobody uses.
pub(super) fn free_address() -> SocketAddr {
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
    free.local_addr().expect("its address")
}

/// Opens a connection on which nothing waits for ever.
pub(super) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("a socket option");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    stream
}

/// For a server to start, and for a response.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
