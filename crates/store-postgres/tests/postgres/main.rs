//! The store on real PostgreSQL servers.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod conformance;
mod database;
mod fence;
mod leadership;
mod refusals;
mod scene;
mod sessions;
mod upgrade;
