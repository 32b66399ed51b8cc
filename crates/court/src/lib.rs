//! The file contract: events, tasks, results and messages between roles on one host, as JSON files.
//!
//! No server is needed and `cat` shows everything: the directory a file lies in is its state, and a change of state is
//! one rename. [`Folder`] is the ground all roles stand on: it writes so that nobody ever sees half a file, moves so
//! that no crash can put one file into two states, and refuses what is not valid. Each role under [`roles`] is a mind
//! that does one step at a time on the folder; the runtimes around them wait for files to appear, run soldiers and speak
//! to the outside.
//!
//! Everything that crosses a role's boundary is durable before the next thing is done, in an order in which every prefix can be
//! taken up again: that is all the recovery there is.

pub mod bridge;
mod clock;
pub mod config;
mod disk;
pub mod doctor;
mod document;
pub mod emit;
pub mod file;
mod folder;
pub mod inbox;
pub mod init;
mod layout;
mod presence;
pub mod prune;
pub mod roles;
#[cfg(test)]
mod scene;
pub mod schema;
mod sequence;

pub use clock::{Clock, Wake};
pub use disk::{Fuse, Operation};
pub use document::{Document, DocumentError};
pub use folder::{Fault, Folder};
pub use layout::{Id, IdError, Kind, Place};
pub use presence::{RoleLock, RoleLockError};
pub use sequence::Series;

/// The largest file that is taken from anybody (C23).
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// The largest file there is: what was taken may grow by what roles write into it.
pub(crate) const HELD_BYTES_MAX: usize = FILE_BYTES_MAX + 256 * 1024;
