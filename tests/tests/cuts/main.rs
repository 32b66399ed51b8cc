//! Every line between servers, database and agents is cut, the database restarts, moves and fills up, servers are handed
//! over and their clocks jump: all is survived, or ends with a clear message, and recovers by itself.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clocks;
mod database;
mod lines;
mod load;
mod servers;
mod wires;
