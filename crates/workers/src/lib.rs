//! Workers that people run.
//!
//! [`simulation`] is the reference worker of contract S, `muster sim-worker`; [`pool`] that of contract P,
//! `muster pool-worker`.

mod call;
mod complaint;
pub mod pool;
mod secret;
pub mod simulation;
mod trouble;
