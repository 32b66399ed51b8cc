//! Servers that share a store, in one process: who leads, who is answered, and what is kept (S18, invariant 10).

mod patience;
pub(crate) mod stage;
mod takeover;
mod truth;
