//! `muster pool-worker` as an owner runs it, kill -9 included.

use crate::{muster_command, password_of};
use serde_json::Value;
use std::{
    fs::OpenOptions,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
};

/// A pool worker; ended with the value.
#[derive(Debug)]
pub struct PoolWorker {
    child: Child,
    directory: PathBuf,
    name: String,
    server: String,
    args: Vec<String>,
}

impl PoolWorker {
    /// Starts one of the owner `olga` at a server, in a directory of its own below this one, with more words on its
    /// command line.
    #[must_use]
    pub fn start(url: &str, below: &Path, name: &str, args: &[&str]) -> Self {
        let directory = below.join(name);
        std::fs::create_dir(&directory).unwrap();
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let child = spawn(&directory, (name, url), &args);
        Self { child, directory, name: name.to_owned(), server: url.to_owned(), args }
    }

    /// Ends it as no process can prevent, and starts it anew under the same name.
    pub fn kill9_and_restart(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = spawn(&self.directory, (&self.name, &self.server), &self.args);
    }

    /// Starts it anew with other words, once it has ended.
    pub fn restart_with(&mut self, args: &[&str]) {
        assert!(self.child.try_wait().unwrap().is_some(), "it still runs");
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        self.child = spawn(&self.directory, (&self.name, &self.server), &args);
    }

    /// Asks it to end and waits until it has.
    pub fn terminate(&mut self) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.wait()
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// The file of its key.
    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.directory.join("key")
    }

    /// What was set aside.
    #[must_use]
    pub fn aside(&self) -> Value {
        let mut command = muster_command();
        command.args(["pool-worker", "aside", "--json", "--spool"]).arg(self.directory.join("spool"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["aside"].clone()
    }

    /// Everything it logged, over all its starts.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.directory.join("log")).unwrap()).into_owned()
    }
}

impl Drop for PoolWorker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if thread::panicking() {
            let from = log.char_indices().rev().nth(3000).map_or(0, |(at, _)| at);
            eprintln!("the end of the log of {}:\n{}", self.name, &log[from..]);
        } else {
            assert!(!log.contains("panicked at") && !log.contains(&password_of("olga")), "{log}");
        }
    }
}

fn spawn(directory: &Path, (name, server): (&str, &str), args: &[String]) -> Child {
    let log = OpenOptions::new().create(true).append(true).open(directory.join("log")).unwrap();
    let mut command = muster_command();
    command.args(["pool-worker", "--server", server, "--user", "olga", "--name", name]);
    command.arg("--key").arg(directory.join("key")).arg("--spool").arg(directory.join("spool"));
    command.args(args).env("MUSTER_PASSWORD", password_of("olga"));
    command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
}
