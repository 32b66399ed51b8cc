//! The embedded store: conformance, files of older versions, and the shape of its tables.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod conformance;
mod file;
mod legacy;
mod migration;
mod pool;
mod scene;
mod shape;
