//! Contract S end to end: sessions of frames, checkpoints and manifests, on the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod checkpoint;
mod manifest;
mod session_kill;
mod sessions;

use muster_tests::Server;
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

/// A server whose sessions write into a directory of the test's.
struct Farm {
    server: Server,
    place: TempDir,
}

/// How a client command ended, and what it said.
struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Farm {
    fn start(settings: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let output = place.path().join("output");
        let own = [("MUSTER_SIMULATION__OUTPUT_ROOT", output.to_str().unwrap())];
        Self { server: Server::with_fixed_port(&[&own[..], settings].concat()), place }
    }

    /// Where sessions write.
    fn output(&self) -> PathBuf {
        self.path("output")
    }

    /// A file beside the output.
    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Runs a client command as the administrator.
    fn muster(&self, line: &str) -> Said {
        let words: Vec<&str> = line.split(' ').collect();
        let output = self.server.client_command(&words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The document of a client command that must succeed.
    fn document(&self, line: &str) -> Value {
        let said = self.muster(&format!("{line} --json"));
        assert_eq!(said.code, 0, "{line}: {}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    }

    /// The kinds of a session's diagnostics, newest first.
    fn kinds(&self, session: &str) -> Vec<String> {
        let lines = self.document(&format!("session diagnostics {session} --limit 1000"));
        let lines = lines["diagnostics"].as_array().unwrap();
        lines.iter().map(|line| line["kind"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
