//! Speaks contract N: device nodes pull work and push callbacks.
//!
//! `wire` has the contract's own words, `translate` rephrases them as commands and replies (pure), and
//! `routes` carries both over HTTP. Nothing is decided here: whether a report counts, is stale or is
//! refused is the engine's word. The one thing this room remembers is the last heartbeat of each node
//! (`board`), because heartbeats are exempt from durability (N5). `artifacts` are the routes of files (N21).

mod artifacts;
mod board;
mod routes;
mod translate;
pub mod wire;

pub use artifacts::{ArtifactSettings, Artifacts, artifact_routes, sweep};
pub use board::{Board, Heartbeat};
pub use routes::{routes, routes_with};
