//! The reference worker of the pool (P16).
//!
//! [`mod@core`] decides everything and touches nothing.

mod assignment;
pub mod core;
mod keys;
mod server;
pub mod wire;

pub use crate::secret::Secret;
pub use assignment::Assignment;
pub use keys::{KeyFile, KeyFileError, SEED_BYTES};
pub use server::{Credentials, Server};
