//! What is remembered of heartbeats: in memory, bounded, gone with the process (N5).

use muster_model::{Digest, Name, ReportId, Timestamp};
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The last heartbeat of each node, and the ids of the latest heartbeats; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Memory>>);

/// A node's own account of itself (N8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// By the node's clock.
    pub at: Timestamp,
    /// By our clock, when it arrived.
    pub heard_at: Timestamp,
    /// Devices attached.
    pub connected: u64,
    /// Devices with a running task.
    pub running: u64,
    /// Targets of the open runs there not yet started.
    pub queued: u64,
    /// Whether the vendor's control channel works.
    pub vendor_ws_ok: bool,
    /// Whether the node could not deliver its reports for a while (N20).
    pub degraded: bool,
}

/// Whether a heartbeat was heard before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// For the first time.
    New,
    /// The same once more.
    Again,
    /// Its id belongs to another content.
    Conflict,
}

#[derive(Debug, Default)]
struct Memory {
    ids: HashMap<ReportId, Digest>,
    order: VecDeque<ReportId>,
    last: BTreeMap<Name, Heartbeat>,
}

impl Board {
    /// Each node's last heartbeat, by name.
    #[must_use]
    pub fn heartbeats(&self) -> Vec<(Name, Heartbeat)> {
        self.memory().last.iter().map(|(node, beat)| (node.clone(), beat.clone())).collect()
    }

    /// The last heartbeat of one node.
    #[must_use]
    pub fn heartbeat(&self, node: &Name) -> Option<Heartbeat> {
        self.memory().last.get(node).cloned()
    }

    /// Says whether a heartbeat's id is known, without remembering it.
    pub(crate) fn check(&self, id: &ReportId, digest: Digest) -> Heard {
        self.memory().check(id, digest)
    }

    /// Remembers a heartbeat that was taken; the last to arrive is the one shown, because a node's clock may be set back.
    pub(crate) fn remember(&self, (id, digest): (ReportId, Digest), node: Name, beat: Heartbeat) {
        let mut memory = self.memory();
        memory.remember_id(id, digest);
        memory.remember_beat(node, beat);
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Each update leaves the maps whole, so a panic elsewhere while holding the lock harms nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn check(&self, id: &ReportId, digest: Digest) -> Heard {
        match self.ids.get(id) {
            None => Heard::New,
            Some(known) if *known == digest => Heard::Again,
            Some(_) => Heard::Conflict,
        }
    }

    fn remember_id(&mut self, id: ReportId, digest: Digest) {
        if self.ids.insert(id.clone(), digest).is_some() {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > IDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
    }

    fn remember_beat(&mut self, node: Name, beat: Heartbeat) {
        self.last.insert(node, beat);
        if self.last.len() > NODES_MAX {
            let stalest =
                self.last.iter().min_by_key(|(_, beat)| beat.heard_at).map(|(node, _)| node.clone());
            stalest.and_then(|node| self.last.remove(&node));
        }
    }
}

const IDS_MAX: usize = 10_000;
const NODES_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(at: i64) -> Heartbeat {
        let (at, heard_at) = (Timestamp(0), Timestamp(at));
        Heartbeat { at, heard_at, connected: 1, running: 0, queued: 0, vendor_ws_ok: true, degraded: false }
    }

    fn id(n: usize) -> ReportId {
        ReportId::new(&format!("hb-{n}")).unwrap()
    }

    /// N5: a heartbeat's id is remembered in memory, and another body under it is a conflict.
    #[test]
    fn a_heartbeat_heard_twice_is_known() {
        let board = Board::default();
        let node = Name::new("PC-01").unwrap();
        assert_eq!(board.check(&id(1), Digest(7)), Heard::New);
        board.remember((id(1), Digest(7)), node.clone(), beat(1));
        assert_eq!(board.check(&id(1), Digest(7)), Heard::Again);
        assert_eq!(board.check(&id(1), Digest(8)), Heard::Conflict);
        assert_eq!(board.heartbeat(&node), Some(beat(1)));
    }

    #[test]
    fn memory_is_bounded() {
        let board = Board::default();
        for n in 0..IDS_MAX + 5 {
            board.remember((id(n), Digest(0)), Name::new(&format!("n{n}")).unwrap(), beat(n as i64));
        }
        assert_eq!(board.memory().ids.len(), IDS_MAX);
        assert_eq!(board.heartbeats().len(), NODES_MAX);
        assert_eq!(board.check(&id(0), Digest(0)), Heard::New);
    }
}
