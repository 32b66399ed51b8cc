//! Generals with real soldiers, really ended, and with a coordinator that is played.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod coordinator;
mod fleets;
mod lives;
mod patience;
mod scene;
mod soldiers;
