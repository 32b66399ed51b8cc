//! `muster gateway` before a server that runs.

use crate::{Address, Client, Server, muster_command, server};
use std::{
    fs::OpenOptions,
    path::PathBuf,
    process::{Child, Stdio},
    thread,
};
use tempfile::TempDir;

/// A gateway; ended with the value.
#[derive(Debug)]
pub struct Gateway {
    child: Child,
    directory: TempDir,
    address: Address,
}

impl Gateway {
    /// Starts one before a server, with more words on its command line.
    #[must_use]
    pub fn before(server: &Server, args: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let log = OpenOptions::new().create(true).append(true).open(log_path(&directory)).unwrap();
        let mut command = muster_command();
        command.args(["gateway", "--coordinator", &server.anonymous().url(), "--listen", "127.0.0.1:0"]);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let address = Address::new(server::wait_for_line(&mut child, &log_path(&directory)));
        Self { child, directory, address }
    }

    /// A caller without a token.
    #[must_use]
    pub fn anonymous(&self) -> Client {
        Client::new(self.address.clone(), None)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> Address {
        self.address.clone()
    }

    /// Everything it logged.
    #[must_use]
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(log_path(&self.directory)).unwrap()).into_owned()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = self.log();
        if thread::panicking() {
            let from = log.char_indices().rev().nth(2000).map_or(0, |(at, _)| at);
            eprintln!("the end of the gateway's log:\n{}", &log[from..]);
        } else {
            assert!(!log.contains("panicked at"), "{log}");
        }
    }
}

fn log_path(directory: &TempDir) -> PathBuf {
    directory.path().join("gateway.log")
}
