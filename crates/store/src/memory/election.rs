//! Leadership over a store in memory.

use super::{MemoryStore, Shared};
use crate::{Candidate, Election, Loaded, Standing, StoreError, Term};
use muster_model::Timestamp;
use std::sync::Arc;

/// The leader, and what has happened since the store was made.
#[derive(Clone, Default)]
pub(super) struct Leadership {
    /// True if several servers share the store.
    pub(super) is_shared: bool,
    renewals: u64,
    leader: Option<Candidate>,
    connected: bool,
    commits: u64,
    /// What the store's clock shows, if it has one.
    clock: Option<Timestamp>,
    /// The latest moment that a batch spoke of.
    latest: Option<Timestamp>,
}

impl Leadership {
    /// Notes that a transaction was kept.
    pub(super) fn count(&mut self, moment: Option<Timestamp>) {
        self.commits += 1;
        self.latest = self.latest.max(moment);
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits
    }

    /// What time it is for a term that begins.
    pub(super) fn now(&self) -> Option<Timestamp> {
        self.clock.map(|clock| self.latest.map_or(clock, |latest| clock.max(latest)))
    }

    /// A term begins; `leader` shows life for it, or nobody does.
    pub(super) fn pass_to(&mut self, leader: Option<Candidate>) {
        self.renewals = 0;
        self.connected = leader.is_some();
        self.leader = leader;
    }
}

impl MemoryStore {
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

    pub(super) fn as_election(&self) -> Option<Arc<dyn Election>> {
        let is_shared = self.lock().leadership.is_shared;
        is_shared.then(|| Arc::new(self.clone()) as Arc<dyn Election>)
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
