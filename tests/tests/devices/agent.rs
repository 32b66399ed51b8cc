//! `muster agent`, as a PC runs it: the real binary against the real server, and against a backend that is no Muster.

mod backend;
mod endings;
mod hardware;
mod outage;
mod process;
mod reasons;
mod workshop;

use muster_tests::{Agent, Server, until};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The workflow that ships with the agent.
const SHIPPED: &str = "login_settings_screenshot_v1";

/// Waits until a server knows so many idle devices of a node.
fn enrolled(server: &Server, node: &str, count: u64) {
    until(&format!("{count} devices of {node}"), || {
        let answer = server.admin().get(&format!("/api/pcs/{node}"));
        (answer.status == 200 && answer.json()["idle_count"] == count).then_some(())
    });
}

/// Submits a run of a workflow with parameters.
fn submit(server: &Server, workflow: &str, params: Value) -> String {
    server.submit(&json!({"workflow_id": workflow, "params": params}))
}

/// Waits until a run has ended, and gives it.
fn ended(server: &Server, run: &str) -> Value {
    until("the end of the run", || {
        let run = server.run(run);
        (!run["completed_at"].is_null()).then_some(run)
    })
}

/// How many rows of a run ended well and badly.
fn counts(run: &Value) -> (u64, u64) {
    (run["counts"]["completed"].as_u64().unwrap(), run["counts"]["failed"].as_u64().unwrap())
}

/// What a server entered of a row's events, in order: `task_started`, `PREFLIGHT running`, …
fn told(server: &Server, row: &str) -> Vec<String> {
    let sql = format!("SELECT body FROM node_events WHERE task_id = '{row}' ORDER BY id");
    let bodies = server.database().column(&sql);
    bodies.iter().map(|body| shown(&serde_json::from_str(body).unwrap())).collect()
}

/// Every event of a type that a server entered, in order.
fn entered(server: &Server, kind: &str) -> Vec<Value> {
    let sql = format!("SELECT body FROM node_events WHERE type = '{kind}' ORDER BY id");
    let bodies = server.database().column(&sql);
    bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect()
}

/// An event's own fields: a server may keep them beside `type`.
fn fields(event: &Value) -> &Value {
    if event["payload"].is_object() { &event["payload"] } else { event }
}

/// An event in a few words.
fn shown(event: &Value) -> String {
    let payload = fields(event);
    let word = |key: &str| payload[key].as_str().unwrap_or_default().to_owned();
    match event["type"].as_str().unwrap() {
        "task_progress" => format!("{} {}", word("step"), word("status")),
        "task_finished" => format!("task_finished {}", word("status")),
        other => other.to_owned(),
    }
}

/// How often a text stands in the newest segment of an agent's spool: written there it survives any death.
fn on_disk(agent: &Agent, text: &str) -> usize {
    let bytes = fs::read(newest_segment(&agent.spool())).unwrap();
    String::from_utf8_lossy(&bytes).matches(text).count()
}

fn newest_segment(spool: &Path) -> PathBuf {
    let names = fs::read_dir(spool).unwrap().map(|entry| entry.unwrap().path());
    let is_segment = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("segment-");
    names.filter(is_segment).max().unwrap()
}
