//! The latest heartbeats: in memory, bounded, lost with the process (N5).

use muster_model::{Name, ReportId, Timestamp};
use std::{
    collections::{BTreeMap, HashSet, VecDeque},
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

#[derive(Debug, Default)]
struct Memory {
    ids: HashSet<ReportId>,
    order: VecDeque<ReportId>,
    last: BTreeMap<Name, Heartbeat>,
}

impl Board {
    /// The last heartbeat of one node.
    #[must_use]
    pub fn heartbeat(&self, node: &Name) -> Option<Heartbeat> {
        self.memory().last.get(node).cloned()
    }

    /// Remembers an accepted heartbeat and returns whether its id is new. The last heartbeat to arrive is the one shown,
    /// because a node's clock may be set back.
    pub(crate) fn remember(&self, id: ReportId, node: Name, beat: Heartbeat) -> bool {
        let mut memory = self.memory();
        memory.remember_beat(node, beat);
        memory.remember_id(id)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Each update leaves the maps whole, so a panic elsewhere while holding the lock harms nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn remember_id(&mut self, id: ReportId) -> bool {
        if !self.ids.insert(id.clone()) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > IDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
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

    /// N5: a heartbeat's id is remembered in memory; a repeat is known by its id alone.
    #[test]
    fn a_repeated_heartbeat_is_known() {
        let board = Board::default();
        let node = Name::new("PC-01").unwrap();
        assert!(board.remember(id(1), node.clone(), beat(1)));
        assert!(!board.remember(id(1), node.clone(), beat(2)));
        assert_eq!(board.heartbeat(&node), Some(beat(2)));
    }

    #[test]
    fn memory_is_bounded() {
        let board = Board::default();
        for n in 0..IDS_MAX + 5 {
            board.remember(id(n), Name::new(&format!("n{n}")).unwrap(), beat(n as i64));
        }
        assert_eq!(board.memory().ids.len(), IDS_MAX);
        assert_eq!(board.memory().last.len(), NODES_MAX);
        assert!(board.remember(id(0), Name::new("n0").unwrap(), beat(0)), "the oldest id is forgotten");
    }
}
