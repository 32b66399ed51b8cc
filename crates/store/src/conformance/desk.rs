//! A store and its newest term, with the few gestures the cases are made of.

use super::Fixture;
use crate::{Batch, Cursor, Cutoffs, FeedEntry, Loaded, MemoryStore, Page, Reader, Store, StoreError, Term};
use muster_model::{Change, Fact, Key, Timestamp};
use std::{fmt::Debug, sync::Arc};

pub(crate) struct Desk {
    fixture: Box<dyn Fixture>,
    pub(crate) store: Box<dyn Store>,
    pub(crate) term: Term,
}

impl Desk {
    /// Opens the data and begins a term.
    pub(crate) fn open(mut fixture: Box<dyn Fixture>) -> Self {
        let store = fixture.open();
        let term = begin_term(store.as_ref());
        Self { fixture, store, term }
    }

    /// Closes everything and opens it again.
    pub(crate) fn reopen(&mut self) -> &mut Self {
        // The handles are dropped before the data is opened again: a stand-in takes their place.
        self.store = Box::new(MemoryStore::new());
        self.term = begin_term(self.store.as_ref());
        self.store = self.fixture.open();
        self.term = begin_term(self.store.as_ref());
        self
    }

    pub(crate) fn reader(&self) -> Arc<dyn Reader> {
        self.store.reader()
    }

    pub(crate) fn commit(&mut self, changes: impl IntoIterator<Item = Change>) {
        let batch = Batch { changes: changes.into_iter().collect(), ..Batch::default() };
        self.try_commit(&batch).expect("the batch is kept");
    }

    pub(crate) fn try_commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.term.writer.commit(batch)
    }

    /// Has a batch refused, for the hole in its feed, and opens the data again.
    pub(crate) fn refuse(&mut self, batch: Batch) {
        let batch = Batch { feed: vec![entry(1), entry(3)], ..batch };
        assert!(self.try_commit(&batch).is_err());
        self.reopen();
    }

    /// Adds entries to the feed, with rows beside them.
    pub(crate) fn feed(&mut self, seqs: impl IntoIterator<Item = u64>, changes: Vec<Change>) {
        let feed = seqs.into_iter().map(entry).collect();
        self.try_commit(&Batch { changes, feed, ..Batch::default() }).expect("the batch is kept");
    }

    pub(crate) fn load(&mut self) -> Vec<Loaded> {
        let mut loaded = Vec::new();
        self.term.writer.load(&mut |record| loaded.push(record)).expect("everything is loaded");
        loaded
    }

    pub(crate) fn fact(&mut self, key: Key) -> Option<Fact> {
        let facts = self.term.lookup.facts(std::slice::from_ref(&key)).expect("keys are looked up");
        facts.get(&key).cloned()
    }

    /// Prunes until nothing more remains; answers how many calls that took.
    pub(crate) fn prune(&mut self, cutoffs: &Cutoffs) -> usize {
        let more = |writer: &mut dyn crate::Writer| writer.prune(cutoffs).expect("old rows are deleted");
        1 + (0..10_000).take_while(|_| more(self.term.writer.as_mut())).count()
    }
}

fn begin_term(store: &dyn Store) -> Term {
    store.begin_term().expect("a term begins")
}

/// The records of one kind that a term begins with.
macro_rules! loaded {
    ($desk:expr, $pattern:pat $(if $guard:expr)? => $record:expr) => {{
        let loaded = $desk.load().into_iter().filter_map(|loaded| match loaded {
            $pattern $(if $guard)? => Some($record),
            _ => None,
        });
        loaded.collect::<Vec<_>>()
    }};
}
pub(crate) use loaded;

/// An entry that is known by its number, with a text that no format may stumble over.
pub(crate) fn entry(seq: u64) -> Arc<FeedEntry> {
    Arc::new(FeedEntry {
        seq,
        kind: format!("kind_{seq}").into(),
        body: format!("{{\"n\": {seq},\n \"t\": \"기기 \\u0000 '\"}}"),
    })
}

/// Reads a whole list in pages of a size; every page but the last is full.
pub(crate) fn read_all<T>(size: u32, read: impl Fn(&Cursor) -> Result<Page<T>, StoreError>) -> Vec<T> {
    let mut all = Vec::new();
    let mut cursor = Cursor { after: None, limit: size };
    loop {
        let page = read(&cursor).expect("a page is read");
        assert!(page.items.len() <= size as usize, "a page has more items than asked for");
        let next = page.next.clone();
        assert!(next.is_none() || page.items.len() == size as usize, "a page before the last is not full");
        all.extend(page.items);
        assert!(all.len() < 100_000, "the pages never end");
        if next.is_none() {
            return all;
        }
        cursor.after = next;
    }
}

/// Checks that a list has these items, read in pages of any size.
pub(crate) fn assert_listed<T: PartialEq + Debug>(
    expected: impl IntoIterator<Item = T>,
    read: impl Fn(&Cursor) -> Result<Page<T>, StoreError>,
) {
    let expected: Vec<T> = expected.into_iter().collect();
    for size in SIZES {
        assert_eq!(read_all(size, &read), expected);
    }
}

/// Sizes of pages.
pub(crate) const SIZES: [u32; 5] = [1, 2, 3, 7, 100];

/// Everything before a moment is old.
pub(crate) fn before(at: i64) -> Cutoffs {
    Cutoffs { history: Timestamp(at), report_ids: Timestamp(at), keys: Timestamp(at) }
}

/// Number of records that an empty store loads: the numbers of jobs and sessions, the farm, and the pool's counters.
pub(crate) const EMPTY: usize = 4;
