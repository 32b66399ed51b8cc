//! The latest heartbeats: in memory, bounded, lost with the process (N5).

use muster_contract_nodes::LastHeartbeat;
use muster_model::{Name, ReportId};
use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The last heartbeat of each node, and the ids of the latest heartbeats; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<Memory>>);

#[derive(Debug, Default)]
struct Memory {
    ids: HashSet<ReportId>,
    order: VecDeque<ReportId>,
    last: BTreeMap<Name, LastHeartbeat>,
}

impl Board {
    /// The last heartbeat of one node.
    #[must_use]
    pub fn heartbeat(&self, node: &Name) -> Option<LastHeartbeat> {
        self.memory().last.get(node).copied()
    }

    /// Remembers an accepted heartbeat and returns whether its id is new. The last heartbeat to arrive is the one shown,
    /// because a node's clock may be set back.
    pub(crate) fn remember(&self, id: ReportId, node: Name, beat: LastHeartbeat) -> bool {
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

    fn remember_beat(&mut self, node: Name, beat: LastHeartbeat) {
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
    use muster_contract_nodes::Heartbeat;
    use muster_model::Timestamp;

    fn beat(heard_at: i64) -> LastHeartbeat {
        let heartbeat = Heartbeat {
            at: Timestamp(0),
            connected: 1,
            running: 0,
            queued: 0,
            vendor_ws_ok: true,
            degraded: false,
        };
        LastHeartbeat { heard_at: Timestamp(heard_at), heartbeat }
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
