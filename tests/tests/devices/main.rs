//! Contracts N and Q end to end: device nodes, runs, artifacts, the agent and its drivers, on the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent;
mod artifacts;
mod drivers;
mod kill;
mod nodes;
mod retries;
mod rows;
mod runs;

use serde_json::{Value, json};

/// A run for all devices.
fn run() -> Value {
    json!({"workflow_id": "w", "params": {"k": 1}})
}

/// The texts of a list.
fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// A run for all devices, in a queue, with so many attempts.
fn run_in(queue: &str, max_attempts: u64) -> Value {
    json!({"workflow_id": "w", "params": {}, "queue": queue, "max_attempts": max_attempts})
}
