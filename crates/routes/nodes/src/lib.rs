//! Speaks contract N: device nodes pull work and push callbacks.
//!
//! [`muster_contract_nodes`] reads requests and writes replies; the handlers here parse, ask the coordinator and phrase.
//! Nothing is decided here. The only thing that is remembered is the last heartbeat of each node (`board`), because
//! heartbeats are exempt from durability (N5). `artifacts` has the routes of files (N21).

mod artifacts;
mod board;
mod routes;

pub use artifacts::{ArtifactSettings, Artifacts, artifact_routes, sweep};
pub use board::Board;
pub use routes::{routes, routes_with};
