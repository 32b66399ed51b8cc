//! Things with a name, held by number.

use super::{Lane, LaneIx, Worker, WorkerIx};
use crate::kernel::storage::Chunks;
use core::hash::BuildHasher;
use hashbrown::HashTable;
use muster_model::Name;

/// Things with a name, held by number.
#[derive(Clone, Debug)]
pub(crate) struct Directory<T> {
    items: Chunks<T>,
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
}

pub(crate) trait Named {
    fn name(&self) -> &Name;
}

impl Named for Worker {
    fn name(&self) -> &Name {
        &self.name
    }
}

impl Named for Lane {
    fn name(&self) -> &Name {
        &self.name
    }
}

impl<T> Default for Directory<T> {
    fn default() -> Self {
        Self {
            items: Chunks::default(),
            index: HashTable::new(),
            hasher: foldhash::fast::FixedState::default(),
        }
    }
}

impl<T: Named> Directory<T> {
    pub(crate) fn find(&self, name: &Name) -> Option<u32> {
        let hash = self.hasher.hash_one(name);
        self.index.find(hash, |number| self.items[*number as usize].name() == name).copied()
    }

    pub(crate) fn add(&mut self, item: T) -> u32 {
        let number = u32::try_from(self.items.len()).expect("fewer than 2^32 names");
        let hash = self.hasher.hash_one(item.name());
        self.items.push(item);
        let (items, hasher) = (&self.items, &self.hasher);
        self.index.insert_unique(hash, number, |n| hasher.hash_one(items[*n as usize].name()));
        number
    }

    pub(crate) fn at(&self, number: u32) -> &T {
        &self.items[number as usize]
    }

    pub(crate) fn at_mut(&mut self, number: u32) -> &mut T {
        &mut self.items[number as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0u32..).zip(self.items.iter())
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

impl Directory<Worker> {
    pub(crate) fn ix(&self, name: &Name) -> Option<WorkerIx> {
        self.find(name).map(WorkerIx)
    }
}

impl Directory<Lane> {
    pub(crate) fn ix(&self, name: &Name) -> Option<LaneIx> {
        self.find(name).map(LaneIx)
    }
}

impl core::ops::Index<WorkerIx> for Directory<Worker> {
    type Output = Worker;

    fn index(&self, ix: WorkerIx) -> &Worker {
        self.at(ix.0)
    }
}

impl core::ops::IndexMut<WorkerIx> for Directory<Worker> {
    fn index_mut(&mut self, ix: WorkerIx) -> &mut Worker {
        self.at_mut(ix.0)
    }
}

impl core::ops::Index<LaneIx> for Directory<Lane> {
    type Output = Lane;

    fn index(&self, ix: LaneIx) -> &Lane {
        self.at(ix.0)
    }
}

impl core::ops::IndexMut<LaneIx> for Directory<Lane> {
    fn index_mut(&mut self, ix: LaneIx) -> &mut Lane {
        self.at_mut(ix.0)
    }
}
