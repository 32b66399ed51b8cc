//! Contract Q, as operators, dashboards and SQL meet it: over HTTP and in the tables, on the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod attempts;
mod explain;
mod filters;
mod queue;
mod remains;
mod retries;
mod rows;
mod rpc;
mod runs;
mod schedules;
mod supply;

use muster_tests::Server;
use serde_json::{Value, json};

/// A run for all devices.
fn run() -> Value {
    json!({"workflow_id": "w", "params": {"k": 1}})
}

/// A run for all devices, in a queue, with so many attempts.
fn run_in(queue: &str, max_attempts: u64) -> Value {
    json!({"workflow_id": "w", "params": {}, "queue": queue, "max_attempts": max_attempts})
}

/// Cancels a run.
fn cancel(server: &Server, run: &str) -> Value {
    server.admin().post(&format!("/api/runs/{run}/cancel"), &json!({})).expect(200)
}
