//! Ways to see what is there.

use muster_store::{Cursor, Reader, Store, TaskFilter, conformance::scenes::job};
use muster_store_sqlite::SqliteStore;
use rusqlite::Connection;
use std::path::Path;

/// A connection such as anybody could open.
pub(crate) fn shell(directory: &Path) -> Connection {
    Connection::open(directory.join("muster.db")).unwrap()
}

/// Opens a directory and counts the tasks there.
pub(crate) fn tasks(directory: &Path) -> usize {
    count(SqliteStore::open(directory).unwrap().reader().as_ref())
}

/// Number of tasks.
pub(crate) fn count(reader: &dyn Reader) -> usize {
    let all = Cursor { after: None, limit: 2_000_000 };
    reader.tasks(job(), &TaskFilter::default(), &all).unwrap().items.len()
}
