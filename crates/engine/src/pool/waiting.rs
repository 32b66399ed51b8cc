//! Requests that wait for work, and who of them is woken for what appeared.

use super::{Pool, state::Member};
use crate::Mutant;
use alloc::{
    collections::{BTreeSet, btree_map},
    vec::Vec,
};
use muster_model::{PoolWorkerId, Timestamp};

impl Pool {
    /// Tells that a request of a worker waits from now on: the worker is there while it does.
    pub(crate) fn begin_waiting(&mut self, worker: PoolWorkerId) {
        if let Some(member) = self.members.get_mut(&worker) {
            self.last_waiting += 1;
            member.waiting.push_back(self.last_waiting);
            self.waiting.insert(self.last_waiting, worker);
        }
    }

    /// Tells that it was answered or given up. What it was woken for may be another's now.
    pub(crate) fn end_waiting(&mut self, worker: PoolWorkerId, now: Timestamp) {
        let Some(member) = self.members.get_mut(&worker) else {
            return;
        };
        let Some(number) = member.waiting.pop_front() else {
            return;
        };
        member.heard = member.heard.max(now);
        self.waiting.remove(&number);
        if let Some(member) = self.members.get(&worker) {
            for class in self.ready.classes_for(member) {
                *self.dirty.fresh.entry(class).or_default() += 1;
            }
        }
    }

    /// Workers whose waiting requests should be decided again: those that were freed, and in order of arrival as many as
    /// there are new jobs for them.
    pub(crate) fn take_woken(&mut self) -> Vec<PoolWorkerId> {
        let freed = core::mem::take(&mut self.dirty.freed);
        if self.has_bug(Mutant::PoolWakeLost) {
            return Vec::new();
        }
        let asks = |id: &PoolWorkerId| self.members.get(id).is_some_and(|member| !member.waiting.is_empty());
        let mut woken: BTreeSet<PoolWorkerId> = freed.into_iter().filter(asks).collect();
        self.wake_for_fresh(&mut woken);
        woken.into_iter().collect()
    }

    /// Only who matches a class with new jobs is looked at more closely: others may wait by the thousand.
    fn wake_for_fresh(&mut self, woken: &mut BTreeSet<PoolWorkerId>) {
        let mut fresh = core::mem::take(&mut self.dirty.fresh);
        fresh.retain(|class, jobs| {
            *jobs = (*jobs).min(self.ready.ready_of(*class));
            *jobs > 0
        });
        for worker in self.waiting.values() {
            if fresh.is_empty() {
                return;
            }
            let able = |member: &&Member| member.may_work() && member.has_free_slot();
            let able = self.members.get(worker).filter(|_| !woken.contains(worker)).filter(able);
            let class =
                able.and_then(|member| fresh.keys().find(|class| self.ready.matches(**class, member)));
            if let Some(class) = class.copied()
                && let btree_map::Entry::Occupied(mut jobs) = fresh.entry(class)
            {
                woken.insert(*worker);
                *jobs.get_mut() -= 1;
                if *jobs.get() == 0 {
                    jobs.remove();
                }
            }
        }
    }

    /// True if a worker that asks now would be given something (invariant 13).
    pub(crate) fn has_supply_for(&self, worker: PoolWorkerId) -> bool {
        let fit = self.members.get(&worker).filter(|member| member.may_work() && member.has_free_slot());
        fit.is_some_and(|member| self.ready.next_for(member).is_some())
    }
}
