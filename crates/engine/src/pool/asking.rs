//! Requests that wait for work, and who of them is woken for what appeared.

use super::Pool;
use crate::Mutant;
use alloc::vec::Vec;
use muster_model::{PoolWorkerId, Timestamp};

impl Pool {
    /// Tells that a request of a worker waits from now on: the worker is there while it does.
    pub(crate) fn begin_asking(&mut self, worker: PoolWorkerId) {
        if let Some(member) = self.members.get_mut(&worker) {
            self.asked += 1;
            member.asks.push_back(self.asked);
            self.asking.insert(self.asked, worker);
        }
    }

    /// Tells that it was answered or given up. What it was woken for may be another's now.
    pub(crate) fn end_asking(&mut self, worker: PoolWorkerId, now: Timestamp) {
        let Some(member) = self.members.get_mut(&worker) else {
            return;
        };
        if let Some(number) = member.asks.pop_front() {
            member.heard = member.heard.max(now);
            self.asking.remove(&number);
            self.dirty.fresh += usize::from(self.ready.len() > 0);
        }
    }

    /// Whose waiting requests should be decided again: whoever was freed, and in the order they came as many as
    /// there are new jobs for them.
    pub(crate) fn take_woken(&mut self) -> Vec<PoolWorkerId> {
        let freed = core::mem::take(&mut self.dirty.freed);
        let mut woken = core::mem::take(&mut self.dirty.woken);
        if self.has_bug(Mutant::PoolWakeLost) {
            return Vec::new();
        }
        let asks = |id: &PoolWorkerId| self.members.get(id).is_some_and(|member| !member.asks.is_empty());
        woken.extend(freed.into_iter().filter(asks));
        let mut fresh = core::mem::take(&mut self.dirty.fresh).min(self.ready.len());
        if fresh > 0 {
            for worker in self.asking.values() {
                if !woken.contains(worker) && self.has_supply_for(*worker) {
                    woken.insert(*worker);
                    fresh -= 1;
                }
                if fresh == 0 {
                    break;
                }
            }
        }
        woken.into_iter().collect()
    }

    /// Whether a worker that asks now would be given something (invariant 13).
    pub(crate) fn has_supply_for(&self, worker: PoolWorkerId) -> bool {
        let fit = self.members.get(&worker).filter(|member| member.may_work() && member.has_free_slot());
        fit.is_some_and(|member| self.ready.next_for(member).is_some())
    }
}
