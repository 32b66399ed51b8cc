//! The workers as they run, against stand-ins of their servers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod pool;
mod simulation;
mod stand_in;

use std::{
    env,
    path::{Path, PathBuf},
};

/// The workers and the guard that `cargo test` builds from `examples/worker.rs`.
fn worker_binary() -> PathBuf {
    let test = env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples/worker");
    assert!(path.exists(), "{} is built by `cargo build --examples`", path.display());
    path
}
