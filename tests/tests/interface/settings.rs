//! Settings: I10.

use muster_tests::{Server, muster_command};
use serde_json::{Value, json};
use std::{fs, process::Output};

fn config(file: Option<&str>, variables: &[(&str, &str)]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    let mut command = muster_command();
    command.args(["config", "--json"]).envs(variables.iter().copied());
    if let Some(text) = file {
        fs::write(directory.path().join("muster.toml"), text).unwrap();
        command.arg("--config").arg(directory.path().join("muster.toml"));
    }
    command.output().unwrap()
}

fn value(output: &Output, key: &str) -> Value {
    serde_json::from_slice::<Value>(&output.stdout).unwrap()[key]["value"].clone()
}

/// I10: the pinned names have the pinned defaults.
#[test]
fn the_pinned_names_are_there() {
    let output = config(None, &[]);
    for (key, expected) in [
        ("operations.slots", json!(20)),
        ("operations.attempt_timeout_s", json!(1200)),
        ("operations.max_attempts", json!(3)),
        ("operations.offline_grace_s", json!(120)),
        ("nodes.offline_after_s", json!(30)),
        ("nodes.redeliver_after_s", json!(15)),
        ("nodes.lease_s", json!(300)),
        ("nodes.secret_overlap_s", json!(3600)),
        ("leadership.lease_ms", json!(3000)),
        ("simulation.rebind", json!("reassign")),
        ("server.body_limit_bytes", json!(1_048_576)),
        ("retention.history_days", json!(30)),
        ("retention.event_id_days", json!(90)),
    ] {
        assert_eq!(value(&output, key), expected, "{key}");
    }
}

/// I10: defaults, then the file, then the environment, then flags; fractions of a second are allowed.
#[test]
fn later_sources_win() {
    let file = "[nodes]\nlease_s = 7\noffline_after_s = 0.5\n[operations]\nslots = 4\n";
    let output = config(Some(file), &[("MUSTER_NODES__LEASE_S", "8.5")]);
    assert_eq!(value(&output, "nodes.lease_s"), 8.5);
    assert_eq!(value(&output, "nodes.offline_after_s"), 0.5);
    assert_eq!(value(&output, "operations.slots"), 4);
    assert_eq!(value(&output, "operations.max_attempts"), 3);
    // The harness gives --listen as a flag, so the variable must lose.
    let server = Server::with(&[
        ("MUSTER_SERVER__LISTEN", "256.0.0.1:1"),
        ("MUSTER_SERVER__BODY_LIMIT_BYTES", "2000"),
    ]);
    let long = json!({"workflow_id": "w", "params": {"x": "x".repeat(2000)}});
    let _ = server.admin().post("/api/runs", &long).problem(413);
}

/// I10: an unknown key is refused with the near one, in a file and in the environment; other variables are not ours.
#[test]
fn an_unknown_key_is_refused_with_a_suggestion() {
    let check = |output: Output, words: &str| {
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(words), "{text}");
    };
    check(config(Some("[nodes]\nlease_secs = 1\n"), &[]), "did you mean nodes.lease_s?");
    check(config(None, &[("MUSTER_OPERATION__SLOTS", "1")]), "did you mean MUSTER_OPERATIONS__SLOTS?");
    check(config(Some("[nodes]\nlease_s = \"long\"\n"), &[]), "nodes.lease_s");
    check(config(None, &[("MUSTER_OPERATIONS__SLOTS", "-1")]), "operations.slots");
    check(config(Some("[nodes\n"), &[]), "muster.toml");
    assert_eq!(config(None, &[("MUSTER_WHATEVER", "1"), ("OTHER__THING", "1")]).status.code(), Some(0));
    let refused = muster_command()
        .args(["serve", "--listen", "127.0.0.1:0", "--data", "/nonexistent"])
        .env("MUSTER_NODES__LEASE", "1")
        .output()
        .unwrap();
    check(refused, "did you mean MUSTER_NODES__LEASE_S?");
}

/// I10: the log can be for machines.
#[test]
fn the_log_can_be_json() {
    let server = Server::with(&[("MUSTER_SERVER__LOG_FORMAT", "json")]);
    let _ = server.admin().get("/api/runs");
    for line in server.log().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(entry["timestamp"].is_string() && entry["level"].is_string(), "{line}");
    }
}
