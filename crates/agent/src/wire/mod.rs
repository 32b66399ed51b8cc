//! Contract N as a node speaks it: callbacks, pulls and their answers as JSON.
//!
//! What the agent sends is exactly what it spooled, so a callback is read back from its JSON after a restart.

mod pull;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use pull::{read_pull, write_pull};
pub use read::{NotACallback, read_event};
pub use write::{write_event, write_heartbeat};
