//! Workers.

use super::{LaneIx, Shares, TaskRef};
use crate::kernel::storage::SortedDeque;
use alloc::{collections::BTreeSet, vec::Vec};
use muster_model::{Name, SecretRecord, TaskId, Timestamp};

/// A worker's number; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WorkerIx(pub(crate) u32);

/// A worker.
///
/// The fields are in memory order: those that every command needs come first, to share cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(128))]
pub(crate) struct Worker {
    pub(crate) name: Name,
    /// The last sign of life; not durable, counts anew after a start (N15).
    pub(crate) last_seen: Timestamp,
    /// Time when its heartbeat becomes late, once it has pulled or called back (N8c). Not durable.
    pub(crate) heartbeat_due: Option<Timestamp>,
    pub(crate) online: bool,
    pub(crate) draining: bool,
    /// Something for it to hear besides new work.
    pub(crate) news: bool,
    /// Requests of it that wait for work; while one does, it is there. Not durable.
    pub(crate) waiting: u32,
    pub(crate) shares: Shares,
    /// Live leases.
    pub(crate) live: SortedDeque<TaskRef>,
    /// Leases handed out by a pull and not confirmed, by when they were last shown (N2).
    pub(crate) unconfirmed: SortedDeque<(Timestamp, TaskRef)>,
    /// Leases in `live` that hang on its signs of life.
    pub(crate) presence: u32,
    /// The cap in force when its last lease was granted: one lowered since is met as leases end (Q3).
    pub(crate) granted_under: u32,
    pub(crate) cap: Option<u32>,
    /// The earliest end of its presence leases as written down; signs of life carry them further (N15b).
    pub(crate) lease_until: Timestamp,
    /// No lease of it can time out, and no claim run out, before.
    pub(crate) lease_due: Option<Timestamp>,
    /// Time when the timer that judges it rings.
    pub(crate) armed: Option<Timestamp>,
    pub(crate) paused_until: Option<Timestamp>,
    /// Since when its heartbeat has been late.
    pub(crate) heartbeat_late_since: Option<Timestamp>,
    /// The queue served last: the others come first now (Q2).
    pub(crate) turn: Option<Name>,
    /// Tasks it may still be running though their attempt is over for us.
    pub(crate) superseded: BTreeSet<TaskId>,
    /// The worker that reports its devices as well, as it was noticed last. Not durable.
    pub(crate) contest: Option<Contest>,
    pub(crate) lanes: SortedDeque<LaneIx>,
    /// Lanes in service.
    pub(crate) healthy: u32,
    /// Lanes that vanished lately (N17).
    pub(crate) drops: Vec<(Timestamp, LaneIx)>,
    pub(crate) secrets: Vec<SecretRecord>,
    pub(crate) status_since: Timestamp,
    pub(crate) created_at: Timestamp,
    /// Time when an alert about a contest was raised last. Not durable.
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
            lanes: SortedDeque::default(),
            healthy: 0,
            live: SortedDeque::default(),
            presence: 0,
            granted_under: 0,
            unconfirmed: SortedDeque::default(),
            shares: Shares::default(),
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
