//! The reference worker of simulation sessions (S27).
//!
//! [`mod@core`] decides everything and touches nothing; [`render`] makes the files of a range; [`runtime`] puts a network,
//! programs, files and a clock around them.

pub mod core;
mod master;
mod push;
pub mod render;
pub mod runtime;
mod task;
pub mod wire;

pub use master::Master;
pub use muster_worker_kit::Secret;
pub use task::{Task, TaskError};
