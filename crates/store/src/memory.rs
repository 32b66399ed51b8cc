//! A store that forgets when its last handle is gone: for tests and the simulated world.
//!
//! It is not SQLite in memory: that has no elections, which several servers in one world need, and every world would
//! begin with creating a schema.

mod election;
mod frames;
mod pool;
mod read;
mod tables;

use crate::{Batch, Candidate, Cutoffs, Election, Loaded, Lookup, Reader, Store, StoreError, Term, Writer};
use election::Leadership;
use muster_model::{Facts, Key};
use read::MemoryReader;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tables::Tables;

/// A store in memory. A clone is another handle to the same data; a [`snapshot`](Self::snapshot) is not.
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
}

/// Failure of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing of the batch was kept.
    Before,
    /// All of it was kept, but the caller is told of a failure: its fate is unknown to them.
    After,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An independent store with the data of this moment, as after a restart: no failure is planned.
    ///
    /// The tables are shared until one side writes.
    #[must_use]
    pub fn snapshot(&self) -> Self {
        let shared = self.lock();
        let (tables, leadership) = (Arc::clone(&shared.tables), shared.leadership.clone());
        Self { shared: Arc::new(Mutex::new(Shared { tables, failure: None, leadership })) }
    }

    /// Makes the next commit fail.
    pub fn fail_next(&self, failure: Failure) {
        self.lock().failure = Some(failure);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a term above every epoch that was given, whoever had the last one.
    fn begin(&self, shared: &mut Shared, leader: Option<Candidate>, epoch_seen: u64) -> Term {
        shared.leadership.pass_to(leader);
        let tables = Arc::make_mut(&mut shared.tables);
        tables.epoch = tables.epoch.max(epoch_seen) + 1;
        Term {
            epoch: tables.epoch,
            feed_seq: tables.feed_seq(),
            commits: shared.leadership.commits(),
            now: shared.leadership.now(),
            writer: Box::new(MemoryWriter { store: self.clone(), epoch: tables.epoch }),
            lookup: Box::new(MemoryLookup { store: self.clone() }),
        }
    }
}

impl Store for MemoryStore {
    fn begin_term(&self) -> Result<Term, StoreError> {
        self.begin_term_beyond(0)
    }

    fn begin_term_beyond(&self, epoch: u64) -> Result<Term, StoreError> {
        Ok(self.begin(&mut self.lock(), None, epoch))
    }

    fn reader(&self) -> Arc<dyn Reader> {
        Arc::new(MemoryReader::new(self.clone()))
    }

    fn election(&self) -> Option<Arc<dyn Election>> {
        self.as_election()
    }
}

#[derive(Default)]
struct Shared {
    tables: Arc<Tables>,
    failure: Option<Failure>,
    leadership: Leadership,
}

struct MemoryWriter {
    store: MemoryStore,
    epoch: u64,
}

impl MemoryWriter {
    /// The data, if this term is still the newest.
    fn current(&self) -> Result<MutexGuard<'_, Shared>, StoreError> {
        let shared = self.store.lock();
        if shared.tables.epoch == self.epoch { Ok(shared) } else { Err(StoreError::Superseded) }
    }
}

impl Writer for MemoryWriter {
    fn load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), StoreError> {
        let tables = Arc::clone(&self.store.lock().tables);
        tables.load(sink);
        Ok(())
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let mut shared = self.current()?;
        crate::continue_feed(shared.tables.feed_seq(), &batch.feed)?;
        let failure = shared.failure.take();
        if failure != Some(Failure::Before) {
            Arc::make_mut(&mut shared.tables).write(batch);
            shared.leadership.count(batch.moment());
        }
        match failure {
            None => Ok(()),
            Some(Failure::Before) => Err(StoreError::Backend("planned failure, nothing kept".into())),
            Some(Failure::After) => Err(StoreError::Backend("planned failure, fate unknown".into())),
        }
    }

    fn prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, StoreError> {
        let mut shared = self.current()?;
        shared.leadership.count(None);
        Ok(Arc::make_mut(&mut shared.tables).prune(cutoffs))
    }
}

struct MemoryLookup {
    store: MemoryStore,
}

impl Lookup for MemoryLookup {
    fn facts(&mut self, keys: &[Key]) -> Result<Facts, StoreError> {
        let tables = Arc::clone(&self.store.lock().tables);
        let mut facts = Facts::default();
        for key in keys {
            if let Some(fact) = tables.fact(key) {
                facts.insert(key.clone(), fact);
            }
        }
        Ok(facts)
    }
}
