//! `muster run watch`.

use crate::terminal::Terminal;
use muster_tests::{FakeNode, Server, muster_command};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

fn submitted(server: &Server) -> String {
    let run = server.admin().post("/api/runs", &json!({"workflow_id": "w", "params": {}})).expect(201);
    run["run_id"].as_str().unwrap().to_owned()
}

/// I3, I4: on a terminal a bar says how far a run is; the end is the exit code.
#[test]
fn a_bar_says_how_far_a_run_is() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = submitted(&server);
    let job = node.job();
    let mut watch = Terminal::open(&server, &["run", "watch", &run], &[]);
    watch.see("0/1 done; running, 1 running, 0 failed");
    node.succeed(&job);
    watch.see("status: success");
    let left = watch.end();
    assert_eq!((left.code, left.is_restored), (0, true));
}

/// I4: with `--json` every change is a document on a line of its own, the last of them the end.
#[test]
fn changes_are_told_line_by_line() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = submitted(&server);
    let job = node.job();
    let mut command = muster_command();
    command.args(["run", "watch", &run, "--json"]).env("MUSTER_SERVER", server.anonymous().url());
    command.env("MUSTER_TOKEN", server.admin_token()).stdout(Stdio::piped());
    let mut watch = command.spawn().unwrap();
    let lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut documents = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_eq!(documents.next().unwrap()["status"], "running");
    node.succeed(&job);
    let last = documents.last().unwrap();
    assert_eq!((&last["status"], &last["counts"]["completed"]), (&json!("success"), &json!(1)));
    assert!(watch.wait().unwrap().success());
}
