//! Hands tasks to the coordinator's fleets and brings their ends back (C17).
//!
//! A task's payload is the body of a run, a session or a job. It is handed over under a key of its own, so that
//! handing it over twice is handing it over once, and followed until it ends, whoever dies and comes back meanwhile.

mod client;
mod fleet;
mod follow;
mod news;

pub use client::Coordinator;
pub use fleet::Fleet;
pub use follow::Bridge;
