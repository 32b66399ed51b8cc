//! The routes of contract P: jobs for workers whose owners need not be trusted, results with signatures.
//!
//! `muster-contract-pool` has the contract's types, texts and checks; these handlers parse with it, ask the coordinator, and
//! phrase the answer. Nothing is decided here except whether a signature is valid.

mod bodies;
mod counts;
mod explain;
mod payloads;
mod routes;

pub use routes::routes;
