//! The parts that a worker has of jobs.

use super::LaneIx;
use crate::kernel::storage::SortedDeque;
use alloc::{collections::BTreeSet, vec::Vec};
use muster_model::{JobId, ShareCounts, TaskId};

/// One job's part at one worker.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) job: JobId,
    /// Ordinal of the first task handed out by a pull; the job is announced with it.
    pub(crate) first: Option<u32>,
    /// Targets here without a row.
    pub(crate) lacking: u32,
    /// Rows here that have not ended.
    pub(crate) open_rows: u32,
    pub(crate) counts: ShareCounts,
    /// Lanes that could start now.
    pub(crate) waiting: WaitingLanes,
}

/// Lanes in the order in which they start: fresh ones first, then retries in line (Q10).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitingLanes {
    fresh: SortedDeque<LaneIx>,
    /// By their place in the line.
    retries: BTreeSet<(u64, LaneIx)>,
}

/// A worker's shares by the age of their jobs. A worker has one or two, so a sorted list is enough.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares(Vec<(u64, Share)>);

impl Share {
    pub(crate) fn new(job: JobId) -> Self {
        Self {
            job,
            first: None,
            lacking: 0,
            open_rows: 0,
            counts: ShareCounts::default(),
            waiting: WaitingLanes::default(),
        }
    }

    /// True if the job holds nothing more for the worker.
    pub(crate) fn is_drained(&self) -> bool {
        self.lacking == 0 && self.open_rows == 0
    }

    /// The first task handed out by a pull.
    pub(crate) fn first_task(&self) -> Option<TaskId> {
        self.first.map(|ordinal| TaskId { job: self.job, ordinal })
    }
}

impl WaitingLanes {
    /// Adds a lane by its place in the line of retries; 0 is a fresh one.
    pub(crate) fn insert(&mut self, order: u64, lane: LaneIx) {
        match order {
            0 => self.fresh.insert(lane),
            _ => self.retries.insert((order, lane)),
        };
    }

    pub(crate) fn remove(&mut self, order: u64, lane: LaneIx) {
        match order {
            0 => self.fresh.remove(&lane),
            _ => self.retries.remove(&(order, lane)),
        };
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = LaneIx> {
        self.fresh.iter().copied().chain(self.retries.iter().map(|(_, lane)| *lane))
    }

    pub(crate) fn len(&self) -> usize {
        self.fresh.len() + self.retries.len()
    }
}

impl Shares {
    pub(crate) fn get(&self, seq: u64) -> Option<&Share> {
        self.place(seq).ok().map(|place| &self.0[place].1)
    }

    pub(crate) fn get_mut(&mut self, seq: u64) -> Option<&mut Share> {
        self.place(seq).ok().map(|place| &mut self.0[place].1)
    }

    pub(crate) fn contains(&self, seq: u64) -> bool {
        self.place(seq).is_ok()
    }

    pub(crate) fn insert(&mut self, seq: u64, share: Share) {
        match self.place(seq) {
            Ok(place) => self.0[place].1 = share,
            Err(place) => self.0.insert(place, (seq, share)),
        }
    }

    pub(crate) fn remove(&mut self, seq: u64) {
        if let Ok(place) = self.place(seq) {
            self.0.remove(place);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Share)> {
        self.0.iter().map(|(seq, share)| (*seq, share))
    }

    fn place(&self, seq: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&seq, |(seq, _)| *seq)
    }
}
