//! Workers that people run.
//!
//! [`simulation`] is the reference worker of contract S, `muster sim-worker`.

mod call;
mod secret;
pub mod simulation;
mod trouble;
