//! The coordinator: its write path, its threads, schedules, and several servers on one store.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod driver;
mod failover;
mod panics;
mod schedules;
mod write_path;
