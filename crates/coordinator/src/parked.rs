//! Requests for work that found none: decided again when something concerns them.

use muster_engine::Woken;
use muster_model::{Name, Pull, Timestamp};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A waiting request.
pub(crate) struct Waiting<R> {
    pub(crate) pull: Pull,
    pub(crate) until: Timestamp,
    pub(crate) handle: R,
}

/// All waiting requests, by worker and by the end of their wait.
pub(crate) struct Parked<R> {
    by_worker: BTreeMap<Name, VecDeque<u64>>,
    by_end: BTreeSet<(Timestamp, u64)>,
    requests: BTreeMap<u64, Waiting<R>>,
    next: u64,
}

impl<R> Default for Parked<R> {
    fn default() -> Self {
        Self { by_worker: BTreeMap::new(), by_end: BTreeSet::new(), requests: BTreeMap::new(), next: 0 }
    }
}

impl<R> Parked<R> {
    pub(crate) fn park(&mut self, waiting: Waiting<R>) {
        self.next += 1;
        self.by_worker.entry(waiting.pull.worker.clone()).or_default().push_back(self.next);
        self.by_end.insert((waiting.until, self.next));
        self.requests.insert(self.next, waiting);
    }

    /// The requests that a wake-up concerns, oldest first.
    pub(crate) fn concerned(&self, woken: &Woken) -> Vec<u64> {
        if woken.all {
            return self.requests.keys().copied().collect();
        }
        let mut numbers: Vec<u64> =
            woken.workers.iter().filter_map(|worker| self.by_worker.get(worker)).flatten().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    pub(crate) fn take(&mut self, number: u64) -> Option<Waiting<R>> {
        let waiting = self.requests.remove(&number)?;
        self.by_end.remove(&(waiting.until, number));
        if let Some(line) = self.by_worker.get_mut(&waiting.pull.worker) {
            line.retain(|other| *other != number);
            if line.is_empty() {
                self.by_worker.remove(&waiting.pull.worker);
            }
        }
        Some(waiting)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Waiting<R>> {
        self.requests.get(&number)
    }

    /// The requests whose wait is over.
    pub(crate) fn expired(&self, now: Timestamp) -> Vec<u64> {
        self.by_end.iter().take_while(|(end, _)| *end <= now).map(|(_, number)| *number).collect()
    }

    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        self.by_end.first().map(|(end, _)| *end)
    }

    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    pub(crate) fn workers(&self) -> impl Iterator<Item = &Name> {
        self.by_worker.keys()
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.requests.keys().copied().collect()
    }
}
