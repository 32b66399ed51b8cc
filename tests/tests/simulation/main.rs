//! Sessions end to end, with `muster sim-worker` and the client commands: frames that fail and are retried, chunks that
//! are retired, workers that are removed, clocks that differ.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod chunk;
mod clocks;
mod farm;
mod removal;
mod retry;
