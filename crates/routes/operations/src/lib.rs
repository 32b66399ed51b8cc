//! Speaks contract Q: runs, schedules, devices, PCs, explain, and the PostgREST-style RPCs.
//!
//! [`muster_contract_operations`] reads requests and shows replies; the handlers here parse, ask the coordinator and
//! phrase, one file per noun. Nothing is decided here.

mod postgrest;
mod routes;

pub use postgrest::PostgrestWords;
pub use routes::routes;
