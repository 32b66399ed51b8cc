//! Speaks contract P: jobs for workers whose owners need not be trusted, results with signatures.
//!
//! `wire` has the contract's own words, `shape` reads bodies as strictly as it, `translate` rephrases them as commands and
//! replies (pure; signatures are judged there, too), `routes` carries both over HTTP, one file per noun. Nothing is decided
//! here but whether a signature holds.

mod bodies;
mod counts;
mod keys;
mod payloads;
mod routes;
mod shape;
mod translate;
pub mod wire;

pub use routes::routes;
