//! `muster gateway` before a server that runs.

use crate::{Address, Client, Server, muster_command, process::Process};
use std::{ops::Deref, process::Stdio};
use tempfile::TempDir;

/// A gateway; ended with the value.
#[derive(Debug)]
pub struct Gateway {
    process: Process,
    address: Address,
    _directory: TempDir,
}

impl Gateway {
    /// Starts one before a server, with more words on its command line.
    #[must_use]
    pub fn before(server: &Server, args: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = muster_command();
        command.args(["gateway", "--coordinator", &server.anonymous().url(), "--listen", "127.0.0.1:0"]);
        command.args(args).stdout(Stdio::piped());
        let mut process = Process::start("the gateway", directory.path().join("gateway.log"), command);
        let address = Address::new(process.wait_for_address("listening on http://", ""));
        Self { process, address, _directory: directory }
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
}

impl Deref for Gateway {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}
