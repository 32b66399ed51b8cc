//! Workers that people run.
//!
//! [`simulation`] is the reference worker of contract S, `muster sim-worker`; [`pool`] that of contract P,
//! `muster pool-worker`.

pub mod pool;
#[cfg(test)]
mod script;
pub mod simulation;
