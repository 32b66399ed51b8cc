//! A server with its output in a directory of its own, and the client commands for it.

use muster_tests::{Server, muster_command};
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;

/// A server whose sessions write into a directory of the test's.
pub(crate) struct Farm {
    pub(crate) server: Server,
    place: TempDir,
}

/// How a client command ended, and what it said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Farm {
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let output = place.path().join("output");
        let own = [("MUSTER_SIMULATION__OUTPUT_ROOT", output.to_str().unwrap())];
        Self { server: Server::with(&[&own[..], settings].concat()), place }
    }

    /// Where sessions write.
    pub(crate) fn output(&self) -> PathBuf {
        self.place.path().join("output")
    }

    /// A file that a test makes when a renderer shall go on.
    pub(crate) fn signal_file(&self) -> PathBuf {
        self.place.path().join("go")
    }

    /// Runs a client command as the administrator.
    pub(crate) fn muster(&self, line: &str) -> Said {
        let mut command = muster_command();
        command.args(line.split(' ')).env("MUSTER_SERVER", self.server.anonymous().url());
        command.env("MUSTER_TOKEN", self.server.admin_token()).env("HOME", self.server.data());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The document of a client command that must succeed.
    pub(crate) fn document(&self, line: &str) -> Value {
        let said = self.muster(&format!("{line} --json"));
        assert_eq!(said.code, 0, "{line}: {}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    }

    /// The kinds of a session's diagnostics, newest first.
    pub(crate) fn kinds(&self, session: &str) -> Vec<String> {
        let lines = self.document(&format!("session diagnostics {session} --limit 1000"));
        let lines = lines["diagnostics"].as_array().unwrap();
        lines.iter().map(|line| line["kind"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
