//! Contract P over HTTP: the real coordinator on a store in memory, the real HTTP layer, a clock by hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod access;
mod golden;
mod jobs;
mod leases;
mod results;
mod votes;
mod work;
mod workers;
mod world;
