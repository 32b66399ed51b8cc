//! The workers as they run, against stand-ins of their servers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod pool;
mod simulation;
mod stand_in;
#[path = "../../../worker-kit/tests/support/mod.rs"]
#[allow(dead_code, reason = "bells are for the tests of other crates")]
mod support;

use std::path::PathBuf;

/// The workers and the guard that `cargo test` builds from `examples/worker.rs`.
fn worker_binary() -> PathBuf {
    support::example("worker")
}
