//! Copies of whole stores: into a file, out of it, and onto each other.

mod embedded;
mod older;
mod rows;
mod shared;
