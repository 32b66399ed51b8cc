//! Contract S end to end: sessions of frames, checkpoints and manifests, on the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod checkpoint;
mod manifest;
mod sessions;

use muster_tests::{Ended, Server};
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

/// A server whose sessions write into a directory of the test's.
struct Farm {
    server: Server,
    place: TempDir,
}

impl Farm {
    fn start(settings: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let output = place.path().join("output");
        let own = [
            ("MUSTER_SIMULATION__OUTPUT_ROOT", output.to_str().unwrap()),
            // A slow machine loses no worker, unless a test is about that and says so.
            ("MUSTER_SIMULATION__MISSES_UNTIL_LOST", "20"),
        ];
        Self { server: Server::with_fixed_port(&[&own[..], settings].concat()), place }
    }

    /// Directory that sessions write to.
    fn output(&self) -> PathBuf {
        self.path("output")
    }

    /// A file beside the output.
    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Runs a client command as the administrator.
    fn muster(&self, line: &str) -> Ended {
        self.server.muster(&line.split(' ').collect::<Vec<_>>())
    }

    /// The document of a client command that must succeed.
    fn document(&self, line: &str) -> Value {
        self.muster(&format!("{line} --json")).json()
    }

    /// The kinds of a session's diagnostics, newest first.
    fn kinds(&self, session: &str) -> Vec<String> {
        let lines = self.document(&format!("session diagnostics {session} --limit 1000"));
        let lines = lines["diagnostics"].as_array().unwrap();
        lines.iter().map(|line| line["kind"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
