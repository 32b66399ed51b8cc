//! `muster backup`, `muster restore` and `muster migrate` on installations that are at work.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use muster_pg_harness::Cluster;
use muster_tests::{FakeNode, Server, muster_command};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
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

fn refused(command: &mut Command, words: &str) {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains(words), "{error}");
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

/// A backup of a running server, restored into a database or a directory, is that server: its work, its users, its
/// secrets (I6).
#[test]
fn a_backup_brings_a_server_back() {
    let mut server = Server::start();
    let run = work(&server);
    let (place, data) = (tempfile::tempdir().unwrap(), server.data());
    let (first, second) = (place.path().join("first.backup"), place.path().join("second.backup"));
    let embedded = ["--data", data.to_str().unwrap()];
    let told = finished(&mut backup(&first, embedded));
    assert!(told["rows"].as_u64() > Some(10), "{told}");
    refused(&mut backup(&first, embedded), "is there already");
    refused(&mut restore(&first, embedded), "in use");
    let (before, token) = (seen(&server, &run), server.admin_token());
    let _ = server.terminate();
    refused(&mut restore(&first, embedded), "not empty");

    let url = Cluster::shared().fresh_database();
    let told = finished(&mut restore(&first, ["--store", &url]));
    assert_eq!((&told["verified"], &told["secrets"]), (&json!(true), &json!(5)));
    refused(&mut restore(&first, ["--store", &url]), "not empty");
    let _ = finished(&mut backup(&second, ["--store", &url]));

    std::fs::remove_dir_all(&data).unwrap();
    let _ = finished(&mut restore(&second, embedded));
    server.restart();
    assert_eq!(server.admin_token(), token);
    assert_eq!(seen(&server, &run), before);
}

/// A server at work moves to a database: what it took while it was being copied is there, too, and it goes on with the
/// same secrets; the old directory is not served again by mistake.
#[test]
fn a_server_moves_to_a_database() {
    let mut server = Server::start();
    let run = work(&server);
    let (url, data) = (Cluster::shared().fresh_database(), server.data());
    let migrate = |url: &str| {
        let mut command = muster_command();
        command.args(["migrate", "--data", data.to_str().unwrap(), "--to", url, "--json"]);
        command
    };
    let mut moving = migrate(&url).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&mut moving, "stop the server now");
    // Taken after the first copy was made.
    let late = json!({"workflow_id": "late", "scope": {"pcs": ["PC-01"]}});
    let late = server.admin().post("/api/runs", &late).expect(201)["run_id"].clone();
    let (before, token) = (seen(&server, &run), server.admin_token());
    let _ = server.terminate();
    let moved = moving.wait_with_output().unwrap();
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stderr));
    let told: Value = serde_json::from_slice(&moved.stdout).unwrap();
    assert_eq!(told["verified"], true);
    assert!(
        told["copied_in_the_pause"].as_u64() > Some(0) && told["copied_while_serving"].as_u64() > Some(0)
    );

    refused(
        muster_command().args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data),
        "were moved to",
    );
    refused(&mut migrate(&url), "were moved to");
    server.set("MUSTER_SERVER__STORE", &url);
    server.restart();
    let admin = server.anonymous().with_token(&token);
    let _ = admin.get(&format!("/api/runs/{}", late.as_str().unwrap())).expect(200);
    assert_eq!(seen(&server, &run), before);
    let fresh = tempfile::tempdir().unwrap();
    let used = ["migrate", "--data", fresh.path().to_str().unwrap(), "--to", &url];
    refused(muster_command().args(used), "has served from that database");
}

fn wait_for(child: &mut Child, words: &str) {
    let mut lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    let told = lines.by_ref().map(Result::unwrap).find(|line| line.contains(words));
    assert!(told.is_some(), "it ended before it said {words:?}");
}
