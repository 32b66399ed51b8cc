//! The reference worker of the pool (P16).
//!
//! [`mod@core`] decides everything and touches nothing.

mod assignment;
pub mod core;

pub use crate::secret::Secret;
pub use assignment::Assignment;
