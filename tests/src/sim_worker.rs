//! `muster sim-worker` as a render machine runs it, kill -9 included.

use crate::{Server, muster_command, process::Process};
use std::{
    ops::{Deref, DerefMut},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// A simulation worker; ended with the value.
#[derive(Debug)]
pub struct SimWorker {
    process: Process,
    setup: SimWorkerSetup,
    stopped: bool,
}

/// The command line of a simulation worker.
#[derive(Debug)]
struct SimWorkerSetup {
    directory: TempDir,
    id: String,
    server: String,
    secret: String,
    args: Vec<String>,
}

impl SimWorker {
    /// Starts one for a server that runs, with more words on its command line.
    #[must_use]
    pub fn start(server: &Server, id: &str, args: &[&str]) -> Self {
        Self::at(&server.anonymous().url(), &server.enrol_secret(), id, args)
    }

    /// Starts one for what is at a URL, which takes this secret.
    #[must_use]
    pub fn at(url: &str, secret: &str, id: &str, args: &[&str]) -> Self {
        let setup = SimWorkerSetup {
            directory: tempfile::tempdir().unwrap(),
            id: id.to_owned(),
            server: url.to_owned(),
            secret: secret.to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
        };
        let process = Process::start(id, setup.directory.path().join("worker.log"), setup.command());
        Self { process, setup, stopped: false }
    }

    /// Ends it as no process can prevent, and starts it anew under the same name.
    pub fn kill9_and_restart(&mut self) {
        self.kill9();
        self.stopped = false;
        self.process.start_again(self.setup.command());
    }

    /// Has it stand still (`STOP`), or go on as if nothing had been (`CONT`).
    pub fn signal(&mut self, name: &str) {
        self.process.signal(name);
        self.stopped = name == "STOP" || (self.stopped && name != "CONT");
    }

    /// Says that it stands still.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }
}

impl SimWorkerSetup {
    fn command(&self) -> Command {
        let mut command = muster_command();
        command.args(["sim-worker", "--server", &self.server, "--id", &self.id, "--state"]);
        command.arg(self.directory.path().join("state")).args(&self.args);
        command.env("MUSTER_ENROL_SECRET", &self.secret).stdout(Stdio::null());
        command
    }
}

impl Deref for SimWorker {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for SimWorker {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}
