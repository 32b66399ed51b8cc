//! The real server, beside which everything over HTTP is measured.

use crate::guard::ended_with_this;
use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

/// A running `muster serve`, or a program that stands in for it; ended when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) output: BufReader<ChildStdout>,
    pub(crate) address: SocketAddr,
}

/// The secrets every measured server is started with; they protect nothing but loopback.
pub(crate) const NODE_SECRET: &str = "bench-node-secret-0123456789";
pub(crate) const ENROL_SECRET: &str = "bench-enrol-secret-0123456789";
pub(crate) const ADMIN_TOKEN: &str = "bench-admin-token-0123456789";

impl Server {
    /// Starts the release binary on a data directory with a store, and waits until it listens.
    pub(crate) fn start(data: &Path, store: &str, settings: &[(&str, &str)]) -> Self {
        Self::start_command(serve(&binary(), data, store).envs(settings.iter().copied()))
    }

    /// Starts a program that prints `listening on http://ADDR`, and waits until it does.
    pub(crate) fn start_command(command: &mut Command) -> Self {
        let spawned = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let mut child = spawned.expect("the program can be run");
        let mut output = BufReader::new(child.stdout.take().expect("it was piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("the server speaks");
        let address = line.trim().rsplit("http://").next().and_then(|text| text.parse().ok());
        Self { child, output, address: address.expect("`listening on http://ADDR`") }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `serve` with the secrets of this module. The server ends with the thread that starts it.
pub(crate) fn serve(program: &Path, data: &Path, store: &str) -> Command {
    assert!(
        program.exists(),
        "run `cargo build --release -p muster -p muster-bench`: no {}",
        program.display()
    );
    let mut command = Command::new(program);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", store, "--data"])
        .arg(data)
        .env("NODE_AGENT_SHARED_SECRET", NODE_SECRET)
        .env("MUSTER_ENROL_SECRET", ENROL_SECRET)
        .env("MUSTER_ADMIN_TOKEN", ADMIN_TOKEN)
        .env("MUSTER_LOG", "error");
    ended_with_this(&command)
}

pub(crate) fn binary() -> PathBuf {
    beside("muster")
}

/// A program in the directory of this one.
pub(crate) fn beside(name: &str) -> PathBuf {
    let this = std::env::current_exe().expect("this program has a path");
    this.with_file_name(name)
}
