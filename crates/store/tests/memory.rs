//! The store in memory does what every store must, and fails on demand.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use muster_model::Timestamp;
use muster_store::{
    Cursor, Failure, MemoryStore, Store,
    conformance::{Fixture, all, scenes::worker_batch, shared},
};

struct Memory(MemoryStore);

impl Fixture for Memory {
    fn open(&mut self) -> Box<dyn Store> {
        Box::new(self.0.clone())
    }
}

#[test]
fn it_conforms() {
    all(&|| Box::new(Memory(MemoryStore::new())));
}

/// S18, invariant 10
#[test]
fn it_conforms_where_servers_share_it() {
    all(&|| Box::new(Memory(MemoryStore::shared())));
    shared(&|| Box::new(Memory(MemoryStore::shared())));
    shared(&|| {
        let store = MemoryStore::shared();
        store.set_clock(Timestamp(1_000));
        Box::new(Memory(store))
    });
}

/// A store in memory that belongs to one server has no election.
#[test]
fn only_a_shared_one_has_elections() {
    assert!(MemoryStore::new().election().is_none());
    assert!(MemoryStore::shared().clone().election().is_some());
}

fn count(store: &MemoryStore) -> usize {
    store.reader().workers(&Cursor { after: None, limit: 100 }).unwrap().items.len()
}

#[test]
fn a_planned_failure_keeps_nothing_or_everything_and_happens_once() {
    let store = MemoryStore::new();
    let mut term = store.begin_term().unwrap();
    store.fail_next(Failure::Before);
    assert!(term.writer.commit(&worker_batch("a")).is_err());
    assert_eq!(count(&store), 0);
    store.fail_next(Failure::After);
    assert!(term.writer.commit(&worker_batch("a")).is_err());
    assert_eq!(count(&store), 1);
    term.writer.commit(&worker_batch("b")).unwrap();
    assert_eq!(count(&store), 2);
}

#[test]
fn a_snapshot_goes_its_own_way() {
    let store = MemoryStore::new();
    store.begin_term().unwrap().writer.commit(&worker_batch("a")).unwrap();
    let snapshot = store.snapshot();
    store.begin_term().unwrap().writer.commit(&worker_batch("b")).unwrap();
    assert_eq!((count(&store), count(&snapshot)), (2, 1));
    assert_eq!((store.begin_term().unwrap().epoch, snapshot.begin_term().unwrap().epoch), (3, 2));
}
