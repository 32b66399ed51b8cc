//! Workers and their lanes, and the directories they are found in.

use super::TaskRef;
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use core::hash::BuildHasher;
use hashbrown::HashTable;
use muster_model::{Attachment, JobId, Labels, Name, SecretRecord, ShareCounts, TaskId, Timestamp};

/// A worker's number; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkerIx(pub(crate) u32);

/// A worker.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) name: Name,
    pub(crate) online: bool,
    pub(crate) status_since: Timestamp,
    /// The last sign of life; not durable, counts anew after a start (N15).
    pub(crate) last_seen: Timestamp,
    /// Time when its heartbeat becomes late, once it has pulled or called back (N8c). Not durable.
    pub(crate) heartbeat_due: Option<Timestamp>,
    /// Since when its heartbeat has been late.
    pub(crate) heartbeat_late_since: Option<Timestamp>,
    /// Requests of it that wait for work; while one does, it is there. Not durable.
    pub(crate) waiting: u32,
    pub(crate) cap: Option<u32>,
    pub(crate) draining: bool,
    pub(crate) paused_until: Option<Timestamp>,
    /// The earliest end of its presence leases as written down; signs of life carry them further (N15b).
    pub(crate) lease_until: Timestamp,
    /// No lease of it can time out, and no claim run out, before.
    pub(crate) lease_due: Option<Timestamp>,
    /// Time when the timer that judges it rings.
    pub(crate) armed: Option<Timestamp>,
    pub(crate) lanes: BTreeSet<LaneIx>,
    /// Lanes in service.
    pub(crate) healthy: u32,
    /// Live leases.
    pub(crate) live: BTreeSet<TaskRef>,
    /// Those of them that hang on its signs of life.
    pub(crate) presence: u32,
    /// The cap in force when its last lease was granted: one lowered since is met as leases end (Q3).
    pub(crate) granted_under: u32,
    /// Leases handed out by a pull and not confirmed, by when they were last shown (N2).
    pub(crate) unconfirmed: BTreeSet<(Timestamp, TaskRef)>,
    pub(crate) shares: BTreeMap<u64, Box<Share>>,
    /// Tasks it may still be running though their attempt is over for us.
    pub(crate) superseded: BTreeSet<TaskId>,
    /// The queue served last: the others come first now (Q2).
    pub(crate) turn: Option<Name>,
    /// Something for it to hear besides new work.
    pub(crate) news: bool,
    /// Lanes that vanished lately (N17).
    pub(crate) drops: Vec<(Timestamp, LaneIx)>,
    pub(crate) secrets: Vec<SecretRecord>,
    pub(crate) created_at: Timestamp,
    /// The worker that reports its devices as well, as it was noticed last. Not durable.
    pub(crate) contest: Option<Contest>,
    /// Time when an alert about that was raised last. Not durable.
    pub(crate) contest_told: Option<Timestamp>,
    /// Time when the last alert about a reused event id was raised (N5). Not durable.
    pub(crate) conflict_alerted_at: Option<Timestamp>,
}

/// Two workers report one device (N1b).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contest {
    pub(crate) with: WorkerIx,
    pub(crate) lane: LaneIx,
    pub(crate) at: Timestamp,
}

/// One job's part at one worker.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) job: JobId,
    /// The first task handed out by a pull; the job is announced with it.
    pub(crate) first: Option<TaskId>,
    /// Lanes that could start now: fresh ones first, then retries in line (Q10).
    pub(crate) waiting: BTreeSet<(u64, LaneIx)>,
    /// Targets here without a row.
    pub(crate) lacking: u32,
    /// Rows here that have not ended.
    pub(crate) open_rows: u32,
    pub(crate) counts: ShareCounts,
}

impl Share {
    pub(crate) fn new(job: JobId) -> Self {
        Self {
            job,
            first: None,
            waiting: BTreeSet::new(),
            lacking: 0,
            open_rows: 0,
            counts: ShareCounts::default(),
        }
    }

    /// True if the job holds nothing more for the worker.
    pub(crate) fn is_drained(&self) -> bool {
        self.lacking == 0 && self.open_rows == 0
    }
}

impl Worker {
    pub(crate) fn new(name: Name, at: Timestamp) -> Self {
        Self {
            name,
            online: true,
            status_since: at,
            last_seen: at,
            heartbeat_due: None,
            heartbeat_late_since: None,
            waiting: 0,
            cap: None,
            draining: false,
            paused_until: None,
            lease_until: at,
            lease_due: None,
            armed: None,
            lanes: BTreeSet::new(),
            healthy: 0,
            live: BTreeSet::new(),
            presence: 0,
            granted_under: 0,
            unconfirmed: BTreeSet::new(),
            shares: BTreeMap::new(),
            superseded: BTreeSet::new(),
            turn: None,
            news: false,
            drops: Vec::new(),
            secrets: Vec::new(),
            created_at: at,
            contest: None,
            contest_told: None,
            conflict_alerted_at: None,
        }
    }
}

/// Things with a name, held by number.
#[derive(Clone, Debug)]
pub(crate) struct Directory<T> {
    items: Vec<T>,
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
        Self { items: Vec::new(), index: HashTable::new(), hasher: foldhash::fast::FixedState::default() }
    }
}

impl<T: Named> Directory<T> {
    pub(crate) fn find(&self, name: &Name) -> Option<u32> {
        let hash = self.hasher.hash_one(name.as_str());
        self.index.find(hash, |number| self.items[*number as usize].name() == name).copied()
    }

    pub(crate) fn add(&mut self, item: T) -> u32 {
        let number = u32::try_from(self.items.len()).expect("fewer than 2^32 names");
        let hash = self.hasher.hash_one(item.name().as_str());
        self.items.push(item);
        let (items, hasher) = (&self.items, &self.hasher);
        self.index.insert_unique(hash, number, |n| hasher.hash_one(items[*n as usize].name().as_str()));
        number
    }

    pub(crate) fn at(&self, number: u32) -> &T {
        &self.items[number as usize]
    }

    pub(crate) fn at_mut(&mut self, number: u32) -> &mut T {
        &mut self.items[number as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0u32..).zip(&self.items)
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

/// A lane's number; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LaneIx(pub(crate) u32);

/// A device.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) name: Name,
    pub(crate) handle: Name,
    pub(crate) worker: WorkerIx,
    pub(crate) attachment: Attachment,
    /// Out of service (Q11).
    pub(crate) failed: bool,
    /// The live lease on it.
    pub(crate) busy: Option<TaskRef>,
    /// Since when it is not usable; `None` exactly while it is.
    pub(crate) offline_since: Option<Timestamp>,
    /// Its rows in active jobs (and, until the next one comes, in jobs before them).
    pub(crate) rows: Rows,
    pub(crate) labels: Option<Box<Labels>>,
    pub(crate) note: Option<Box<str>>,
    pub(crate) created_at: Timestamp,
    /// The worker that lost it last to another one while still reporting it, and the time. Not durable, and rare.
    pub(crate) taken: Option<Box<(WorkerIx, Timestamp)>>,
}

/// The rows of a lane, the first of them without a place on the heap: one is the rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    first: Option<LaneRow>,
    more: Vec<LaneRow>,
}

impl Rows {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &LaneRow> {
        self.first.iter().chain(&self.more)
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&LaneRow) -> bool) {
        self.more.retain(|row| keep(row));
        if self.first.as_ref().is_some_and(|row| !keep(row)) {
            self.first = self.more.pop();
        }
    }

    fn set(&mut self, row: LaneRow) {
        match self.first.iter_mut().chain(&mut self.more).find(|known| known.task.job == row.task.job) {
            Some(known) => *known = row,
            None => match self.first {
                None => self.first = Some(row),
                Some(_) => self.more.push(row),
            },
        }
    }
}

/// State of a job on a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneRow {
    pub(crate) task: TaskRef,
    pub(crate) state: RowState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowState {
    Pending,
    Running,
    Ended,
}

impl Lane {
    pub(crate) fn row(&self, job: u64) -> Option<LaneRow> {
        self.rows.iter().find(|row| row.task.job == job).copied()
    }

    pub(crate) fn set_row(&mut self, row: LaneRow) {
        self.rows.set(row);
    }

    /// True if its latest row is the one with this ordinal.
    pub(crate) fn row_is(&self, ordinal: u32) -> bool {
        self.rows.iter().any(|row| row.task.ordinal == ordinal && row.state == RowState::Ended)
    }

    pub(crate) fn is_online(&self) -> bool {
        self.offline_since.is_none()
    }
}
