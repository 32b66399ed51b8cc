//! The reference worker of the pool (P16).
//!
//! [`mod@core`] decides everything and touches nothing; [`execute`] does what assignments ask for; [`runtime`] puts a
//! network, programs, a disk and a clock around them. A result is on disk before it leaves, and stays there until the
//! server has it.

pub mod core;
pub mod execute;
mod keys;
pub mod runtime;
mod server;
pub mod wire;

pub use keys::{KeyFile, KeyFileError, SEED_BYTES};
pub use muster_worker_kit::Secret;
pub use server::{Credentials, Server};

use muster_worker_kit::Text;

/// An assignment, as a server handed it out (P6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Its id.
    pub id: u64,
    /// The fence that its result must bear.
    pub nonce: Text,
    /// The payload of the job: JSON, as it was written.
    pub job: Text,
}
