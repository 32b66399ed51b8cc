//! Copies whole stores, table by table: into a file, out of a file, from one to another.
//!
//! A store is seen as its tables here and nothing more: rows in the order of their keys. [`write()`] makes a backup of one
//! state, [`Archive`] fills an empty store from it, [`align()`] makes one store like another by writing only what differs,
//! and each of them says of every table how many rows it has and what their hash is. What a row means, nobody here knows,
//! but for the epoch, which must go on after a restore ([`raise_epoch`]).

mod align;
mod cell;
mod restore;
mod walk;
mod write;

pub use align::{Aligned, align};
pub use restore::{Archive, Head, RestoreError, raise_epoch};
pub use walk::{Tally, is_empty, tally};
pub use write::{Contents, WriteError, write};
