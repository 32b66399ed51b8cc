//! The simulation worker as it runs, against a stand-in of the master.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod exec;
mod failover;
mod master;
mod process;
mod pull;
mod push;
mod scene;
