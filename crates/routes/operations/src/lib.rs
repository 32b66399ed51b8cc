//! Speaks contract Q: runs, schedules, devices, PCs, explain, and the PostgREST-style RPCs.
//!
//! `wire` has the contract's own words, `translate` rephrases them as commands and replies (pure), and
//! `routes` carries both over HTTP, one file per noun. Nothing is decided here.

mod postgrest;
mod routes;
mod translate;
pub mod wire;

pub use postgrest::speak_postgrest;
pub use routes::routes;
pub use translate::show_alert;
