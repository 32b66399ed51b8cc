//! Accounts over HTTP: the real coordinator on a store in memory, the real HTTP layer, a clock by hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod keys;
mod logins;
mod users;
mod world;
