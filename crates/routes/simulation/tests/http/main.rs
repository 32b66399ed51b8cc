//! Contract S over HTTP: the real coordinator on a store in memory, the real HTTP layer, a disk of its own, a clock by hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod bad_frames;
mod description;
mod operators;
mod results;
mod sessions;
mod workers;
mod world;
