//! The real server, beside which everything over HTTP is measured.

use std::{
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A running `muster serve`; ended when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

/// The secrets every measured server is started with; they protect nothing but loopback.
pub(crate) const NODE_SECRET: &str = "bench-node-secret-0123456789";
pub(crate) const ENROL_SECRET: &str = "bench-enrol-secret-0123456789";
pub(crate) const ADMIN_TOKEN: &str = "bench-admin-token-0123456789";

impl Server {
    /// Starts the release binary on a data directory with a store, and waits until it listens.
    pub(crate) fn start(data: &Path, store: &str, settings: &[(&str, &str)]) -> Self {
        let mut child = Command::new(binary())
            .args(["serve", "--listen", "127.0.0.1:0", "--store", store, "--data"])
            .arg(data)
            .env("NODE_AGENT_SHARED_SECRET", NODE_SECRET)
            .env("MUSTER_ENROL_SECRET", ENROL_SECRET)
            .env("MUSTER_ADMIN_TOKEN", ADMIN_TOKEN)
            .env("MUSTER_LOG", "error")
            .envs(settings.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("target/release/muster is there: cargo build --release -p muster");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it was piped");
        BufReader::new(stdout).read_line(&mut line).expect("the server speaks");
        let address = line.trim().rsplit("http://").next().and_then(|text| text.parse().ok());
        Self { child, address: address.expect("`listening on http://ADDR`") }
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

pub(crate) fn binary() -> PathBuf {
    let this = std::env::current_exe().expect("this program has a path");
    this.with_file_name("muster")
}
