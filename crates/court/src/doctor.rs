//! Tells the whole story of a task, and what is stuck (C21).
//!
//! The doctor only reads: nothing is moved, mended or rejected here, so a visit is safe at any time.

mod stuck;
mod timeline;
mod why;

pub use stuck::{Findings, Stuck, stuck};
pub use timeline::{Entry, Timeline, timeline};
pub use why::why;

use crate::{
    file::stamp,
    folder::{modified, sentence},
};
use jiff::Timestamp;
use serde::Serializer;
use std::path::Path;

/// Time of the last write to a file.
fn written(path: &Path) -> Option<Timestamp> {
    path.symlink_metadata().ok().as_ref().and_then(modified)
}

/// A time as files have it.
fn stamped<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => serializer.serialize_some(&stamp(*at)),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests;
