//! Access to the server, and secrets that must never get out: I6, I7, P1, P2, P16.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod acts;
mod foreign;
mod routes;
mod secrets;
