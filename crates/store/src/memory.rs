//! A store that forgets when its last handle is gone: for tests and the simulated world.
//!
//! It is not SQLite in memory: that has no elections, which several servers in one world need, and every world would
//! begin with creating a schema.

mod frames;
mod pool;
mod read;
mod tables;

use crate::{
    Batch, Candidate, Cutoffs, Election, Loaded, Lookup, Reader, Standing, Store, StoreError, Term, Writer,
};
use muster_model::{Facts, Key, Timestamp};
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

    /// An empty store that several servers share: [`crate::Store::election`] is there. Every clone is a server's.
    #[must_use]
    pub fn shared() -> Self {
        let store = Self::new();
        store.lock().leadership.is_shared = true;
        store
    }

    /// Sets whether the store sees the connection by which the leader shows life; a renewal is made by another.
    pub fn set_connected(&self, connected: bool) {
        self.lock().leadership.connected = connected;
    }

    /// Sets the store's own clock, which terms that begin are told of.
    pub fn set_clock(&self, now: Timestamp) {
        self.lock().leadership.clock = Some(now);
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
            commits: shared.leadership.commits,
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
        let is_shared = self.lock().leadership.is_shared;
        is_shared.then(|| Arc::new(self.clone()) as Arc<dyn Election>)
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

/// The leader, and what has happened since the store was made.
#[derive(Clone, Default)]
struct Leadership {
    /// True if several servers share the store.
    is_shared: bool,
    renewals: u64,
    leader: Option<Candidate>,
    connected: bool,
    commits: u64,
    /// Time of the store's clock, if it has one.
    clock: Option<Timestamp>,
    /// The latest moment that a batch spoke of.
    latest: Option<Timestamp>,
}

impl Leadership {
    /// Notes that a transaction was kept.
    fn count(&mut self, moment: Option<Timestamp>) {
        self.commits += 1;
        self.latest = self.latest.max(moment);
    }

    /// Time at which a term begins.
    fn now(&self) -> Option<Timestamp> {
        self.clock.map(|clock| self.latest.map_or(clock, |latest| clock.max(latest)))
    }

    /// A term begins; `leader` shows life for it, or nobody does.
    fn pass_to(&mut self, leader: Option<Candidate>) {
        self.renewals = 0;
        self.connected = leader.is_some();
        self.leader = leader;
    }
}

impl Election for MemoryStore {
    fn look(&self) -> Result<Standing, StoreError> {
        Ok(standing(&self.lock()))
    }

    fn take(
        &self,
        seen: &Standing,
        candidate: &Candidate,
        epoch_seen: u64,
    ) -> Result<Option<Term>, StoreError> {
        let mut shared = self.lock();
        let standing = standing(&shared);
        if (standing.epoch, standing.renewals) != (seen.epoch, seen.renewals) {
            return Ok(None);
        }
        Ok(Some(self.begin(&mut shared, Some(candidate.clone()), epoch_seen)))
    }

    fn renew(&self, epoch: u64) -> Result<(), StoreError> {
        let mut shared = self.lock();
        if shared.tables.epoch != epoch || shared.leadership.leader.is_none() {
            return Err(StoreError::Superseded);
        }
        shared.leadership.renewals += 1;
        shared.leadership.connected = true;
        Ok(())
    }

    fn resign(&self, epoch: u64) -> Result<(), StoreError> {
        let mut shared = self.lock();
        if shared.tables.epoch == epoch {
            shared.leadership.leader = None;
            shared.leadership.connected = false;
        }
        Ok(())
    }

    fn preload(&self, sink: &mut dyn FnMut(Loaded)) -> Result<u64, StoreError> {
        let (tables, commits) = {
            let shared = self.lock();
            (Arc::clone(&shared.tables), shared.leadership.commits)
        };
        tables.load(sink);
        Ok(commits)
    }
}

fn standing(shared: &Shared) -> Standing {
    let Leadership { renewals, leader, connected, .. } = &shared.leadership;
    Standing {
        epoch: shared.tables.epoch,
        renewals: *renewals,
        leader: leader.clone(),
        connected: *connected,
    }
}
