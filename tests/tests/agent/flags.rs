//! The command line.

use crate::backend::Backend;
use muster_tests::{AgentSetup, muster_command, until};
use serde_json::Value;
use std::net::TcpListener;

/// I11: whoever writes a flag wrongly is told so, before anything is touched.
#[test]
fn wrong_flags_are_refused() {
    for (args, complaint) in [
        (&["--devices", "simulate:5"][..], "did you mean simulated?"),
        (&["--devices", "vendor:http://x"], "begins with ws://"),
        (&["--slots", "0"], "--slots"),
        (&["--on-stop", "hand-bak"], "hand-back"),
        (&["--server", "ftp://x"], "ftp"),
        (&["--server", "no url"], "no url"),
        (&["--log-format", "xml"], "json"),
        (&["--node", ""], "--node"),
        (&["--node", "a\nb"], "--node"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = muster_command();
        command.env("NODE_AGENT_SHARED_SECRET", "x").current_dir(directory.path()).arg("agent");
        if args[0] != "--node" {
            command.args(["--node", "PC-01"]);
        }
        let output = command.args(args).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(complaint), "{complaint:?} is not in: {said}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "{args:?}");
    }
}

/// I11: an address for the status that is taken ends the start, and says which.
#[test]
fn a_taken_address_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = AgentSetup::new("http://127.0.0.1:1", "PC-01").args(&["--status", &address]).output();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&address), "{said}");
}

/// I11: log lines can be JSON, for whoever gathers them.
#[test]
fn log_lines_can_be_json() {
    let backend = Backend::start();
    let mut agent = AgentSetup::new(&backend.url(), "PC-01").args(&["--log-format", "json"]).start();
    until("a pull", || (agent.status()["state"] == "ok").then_some(()));
    assert_eq!(agent.terminate().code(), Some(0));
    let log = agent.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() >= 3, "{log}");
    assert!(lines.iter().all(|line| line["level"] == "INFO"), "{log}");
}
