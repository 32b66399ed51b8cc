//! What people see on a terminal: `muster top` and the watching of work, on a real one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod terminal;
mod top;
mod watch;
