//! `muster sim-worker` as a render machine runs it, kill -9 included.

use crate::{Server, muster_command};
use std::{
    fs::OpenOptions,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
};
use tempfile::TempDir;

/// A simulation worker; ended with the value.
#[derive(Debug)]
pub struct SimWorker {
    child: Child,
    directory: TempDir,
    id: String,
    server: String,
    secret: String,
    args: Vec<String>,
    stopped: bool,
}

impl SimWorker {
    /// Starts one for a server that runs, with more words on its command line.
    #[must_use]
    pub fn start(server: &Server, id: &str, args: &[&str]) -> Self {
        Self::at((&server.anonymous().url(), &server.enrol_secret()), id, args)
    }

    /// Starts one for what is at a URL, which takes this secret.
    #[must_use]
    pub fn at((url, secret): (&str, &str), id: &str, args: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let child = spawn(&directory, (id, url, secret), &args);
        let (id, server, secret) = (id.to_owned(), url.to_owned(), secret.to_owned());
        Self { child, directory, id, server, secret, args, stopped: false }
    }

    /// Ends it as no process can prevent, and starts it anew under the same name.
    pub fn kill9_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.stopped = false;
        self.child = spawn(&self.directory, (&self.id, &self.server, &self.secret), &self.args);
    }

    /// Has it stand still, or (`CONT`) go on as if nothing had been.
    pub fn signal(&mut self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        self.stopped = name == "STOP" || (self.stopped && name != "CONT");
    }

    /// Whether it stands still.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Asks it to end and waits until it has.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal("TERM");
        self.child.wait().unwrap()
    }

    /// The exit status, once it has ended by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Everything it logged, over all its starts.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(log_path(&self.directory)).unwrap()).into_owned()
    }
}

impl Drop for SimWorker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if thread::panicking() {
            let from = log.char_indices().rev().nth(2000).map_or(0, |(at, _)| at);
            eprintln!("the end of the log of {}:\n{}", self.id, &log[from..]);
        } else {
            assert!(!log.contains("panicked at"), "{log}");
        }
    }
}

fn spawn(directory: &TempDir, (id, url, secret): (&str, &str, &str), args: &[String]) -> Child {
    let log = OpenOptions::new().create(true).append(true).open(log_path(directory)).unwrap();
    let mut command = muster_command();
    command.args(["sim-worker", "--server", url, "--id", id, "--state"]).arg(directory.path().join("state"));
    command.args(args).env("MUSTER_ENROL_SECRET", secret);
    command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn log_path(directory: &TempDir) -> PathBuf {
    directory.path().join("worker.log")
}
