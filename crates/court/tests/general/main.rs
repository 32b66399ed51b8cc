//! Generals with real soldiers, really ended.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod lives;
mod scene;
mod soldiers;
