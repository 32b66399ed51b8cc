//! `muster backup`, `muster restore` and `muster migrate` on installations that are at work.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod copies;
mod drills;
mod exits;

use muster_tests::{FakeNode, Server, muster_command};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command},
};

/// Work of every kind on a server, some of it over, some on its way.
fn work(server: &Server) -> String {
    let admin = server.admin();
    let node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let run = json!({"workflow_id": "hello", "title": "a \u{f8ff}0 b", "scope": {"pcs": ["PC-01"]}});
    let run = admin.post("/api/runs", &run).expect(201)["run_id"].as_str().unwrap().to_owned();
    assert_eq!(node.jobs(2).len(), 2);
    let session = json!({"sessionId": "night", "totalFrames": 100, "framesPerTask": 10});
    let _ = admin.post("/api/v1/sessions", &session).expect(201);
    let user = json!({"username": "carol", "password": "a-good-password", "roles": ["CLIENT"]});
    let _ = admin.post("/users", &user).expect(201);
    run
}

/// What people see of it.
fn seen(server: &Server, run: &str) -> Vec<Value> {
    let pages = [
        format!("/api/runs/{run}"),
        format!("/api/runs/{run}/task_devices"),
        "/api/v1/sessions/night".to_owned(),
        "/users".to_owned(),
        "/audit".to_owned(),
    ];
    pages.iter().map(|page| server.admin().get(page).expect(200)).collect()
}

fn finished(command: &mut Command) -> Value {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs what is refused: ends with this code, in these words.
fn refused(command: &mut Command, code: i32, words: &str) {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains(words), "{error}");
    assert_eq!(output.status.code(), Some(code), "{error}");
}

fn backup(file: &Path, place: [&str; 2]) -> Command {
    let mut command = muster_command();
    command.arg("backup").arg(file).args(place).arg("--json");
    command
}

fn restore(file: &Path, place: [&str; 2]) -> Command {
    let mut command = muster_command();
    command.arg("restore").arg(file).args(place).arg("--json");
    command
}

fn migrate(data: &Path, url: &str) -> Command {
    let mut command = muster_command();
    command.args(["migrate", "--data"]).arg(data).args(["--to", url, "--json"]);
    command
}

fn wait_for(child: &mut Child, words: &str) {
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    let told = lines.by_ref().map(Result::unwrap).find(|line| line.contains(words));
    assert!(told.is_some(), "it ended before it said {words:?}");
}
