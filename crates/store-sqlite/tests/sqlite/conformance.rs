//! The store in SQLite does what every store must.

use muster_store::{
    Store,
    conformance::{Fixture, all},
};
use muster_store_sqlite::SqliteStore;

struct Directory(tempfile::TempDir);

impl Fixture for Directory {
    fn open(&mut self) -> Box<dyn Store> {
        Box::new(SqliteStore::open(self.0.path()).unwrap())
    }
}

#[test]
fn it_conforms() {
    all(&|| Box::new(Directory(tempfile::tempdir().unwrap())));
}
