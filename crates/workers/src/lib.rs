//! Workers that people run.
//!
//! [`simulation`] is the reference worker of contract S, `muster sim-worker`.

pub mod simulation;
