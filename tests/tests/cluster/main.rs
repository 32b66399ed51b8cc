//! Several servers on one PostgreSQL database: takeovers, cut lines, wrong clocks, full disks.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clocks;
mod database;
mod fence;
mod kill;
mod lines;
mod load;
mod servers;
mod sessions;
