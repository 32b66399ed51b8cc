//! Reads a checkpoint back, strictly, and writes what it says into an empty store (S20).

mod agree;
mod content;
mod document;
mod field;
mod ids;
mod row;
mod trace;
mod write;

#[cfg(test)]
mod tests;

pub use content::Checkpoint;
pub use document::{BYTES_MAX, ReadError};
pub use write::{RestoreError, Restored};
