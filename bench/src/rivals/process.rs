//! Processes that a measurement starts, and connections to them.

use crate::{cost::tree, guard::ended_after, stopwatch::now};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::{
    array, fs,
    fs::File,
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// A process with its descendants. Dropping it ends them and removes its directory.
pub(crate) struct Process {
    pub(super) child: Child,
    data: TempDir,
}

impl Process {
    /// Starts a server with a directory for its data. What it prints goes to a file there.
    pub(super) fn start(command: &Command, data: TempDir) -> Result<Self, String> {
        let output = File::create(data.path().join(OUTPUT)).map_err(|error| error.to_string())?;
        let errors = output.try_clone().map_err(|error| error.to_string())?;
        let mut command = ended_after(command, LIMIT);
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        Self::spawn(command, data)
    }

    /// Starts a program that is told on its input what to do and answers on its output.
    pub(super) fn start_piped(command: &Command) -> Result<Self, String> {
        let mut command = ended_after(command, LIMIT);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self::spawn(command, directory())
    }

    fn spawn(mut command: Command, data: TempDir) -> Result<Self, String> {
        let child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        Ok(Self { child, data })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the server accepts connections.
    pub(super) fn wait_for(&mut self, address: SocketAddr) -> Result<(), String> {
        let begun = now();
        while TcpStream::connect(address).is_err() {
            let ended = self.child.try_wait().map_err(|error| error.to_string())?;
            if let Some(status) = ended {
                return Err(format!("its server ended with {status}: {}", self.last_line()));
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!(
                    "its server did not listen after {} s: {}",
                    PATIENCE.as_secs(),
                    self.last_line()
                ));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn last_line(&self) -> String {
        let output = fs::read(self.data.path().join(OUTPUT)).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        output.trim_end().lines().last().unwrap_or("it printed nothing").to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let pid = |id: u32| i32::try_from(id).ok().and_then(Pid::from_raw);
        // Any of them may have ended by itself. The group has those whose parents ended before them.
        for id in tree(&[self.child.id()]).into_iter().filter_map(pid) {
            let _ = kill_process(id, Signal::KILL);
        }
        if let Some(group) = pid(self.child.id()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// A directory for a server's data.
pub(super) fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// The address of nothing yet: a free port on loopback.
pub(super) fn free_address() -> SocketAddr {
    let [address] = free_addresses();
    address
}

/// Different free ports on loopback.
pub(super) fn free_addresses<const COUNT: usize>() -> [SocketAddr; COUNT] {
    let bound: [TcpListener; COUNT] =
        array::from_fn(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    bound.map(|listener| listener.local_addr().expect("its address"))
}

/// Opens a connection on which no read waits for ever.
pub(super) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("a socket option");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    stream
}

/// Longest wait for a server to start, and for a response.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Longest life of a process. A measurement of all rivals takes less.
const LIMIT: Duration = Duration::from_secs(900);
const OUTPUT: &str = "output";
