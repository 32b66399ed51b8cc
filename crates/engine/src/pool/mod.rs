//! The pool (contract P): jobs of clients, leased to workers whose owners need not be trusted.
//!
//! A job is given out when a worker asks, never before. Its assignments are attempts; with redundancy several owners
//! do the same job and their hashes vote. [`Pool`] stands beside devices and sessions in the same engine, behind the
//! same one writer.

mod apply;
mod decide;
mod execute;
mod explain;
mod invariant;
mod ready;
mod record;
mod state;
#[cfg(test)]
mod tests;
mod vote;

pub(crate) use decide::keys;
pub(crate) use execute::Steps;
pub(crate) use state::Pool;
