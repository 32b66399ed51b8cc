//! The verbs of Muster: decides what commands make true, and makes it so.
//!
//! Pure: no clock, no randomness, no IO, no async, no serialisation. Time, random bytes and facts from
//! the store are handed in with each command, so the same commands give the same state, always.
//!
//! [`Engine::execute`] is the whole of it: a command is decided, its events are applied, and what follows from them is
//! settled until nothing more follows. `kernel/` has what all domains share; `devices/`, `frames/`, `pool/`, `accounts/`
//! and `schedules.rs` are the domains. What changed is handed to the store by [`Engine::take_changes`]; [`Restoring`]
//! builds the same state back from what the store kept.
#![no_std]
extern crate alloc;

mod accounts;
mod devices;
mod engine;
mod execute;
mod frames;
mod kernel;
mod mutant;
mod pool;
mod schedules;

pub use devices::restore::Restoring;
pub use engine::{Engine, Executed};
pub use kernel::{Context, Waiter, Woken};
pub use mutant::Mutant;
