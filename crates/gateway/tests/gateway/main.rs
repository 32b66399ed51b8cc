//! The gateway between raw callers and stand-ins for coordinators, byte by byte.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod failover;
mod forward;
mod forward_proof;
mod forwarding;
mod limits;
mod server;
mod smuggling;
mod stage;
