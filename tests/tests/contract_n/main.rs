//! Contract N, as a node meets it: over HTTP, on the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod artifacts;
mod callback;
mod door;
mod events;
mod pull;
mod redelivery;
mod watchdog;

use serde_json::{Value, json};

/// A run for all devices.
fn run() -> Value {
    json!({"workflow_id": "w", "params": {"k": 1}})
}

/// The texts of a list.
fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}
