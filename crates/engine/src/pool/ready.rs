//! The jobs that can be given out, so ordered that the next for a worker is found without looking at them all (P14); and
//! the requests that wait for work, and who of them is woken for what appeared.
//!
//! Jobs that ask for the same and bar the same owners are one class. Within a priority every class has a line per
//! client; whose turn it is stands in one order for all lines. A worker looks at the classes it matches, takes the
//! client that was served longest ago, and of that client the oldest job.

use super::{Pool, state::Member};
use crate::Mutant;
use alloc::{
    collections::{BTreeMap, BTreeSet, btree_map},
    vec::Vec,
};
use core::cmp::Reverse;
use muster_model::{Demand, PoolJobId, PoolWorkerId, Timestamp, UserId};

/// A class by its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClassIx(u32);

/// All jobs that can be given out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ready {
    levels: BTreeMap<Reverse<u8>, Level>,
    classes: Vec<Class>,
    by_kind: BTreeMap<(Demand, Vec<UserId>), ClassIx>,
    free: Vec<ClassIx>,
    /// Jobs in it.
    len: usize,
    /// Counts what was given out.
    served: u64,
}

/// Demand of jobs, and the owners they bar.
#[derive(Clone, Debug)]
struct Class {
    demand: Demand,
    barred: Vec<UserId>,
    /// Open jobs of it, given out or not.
    jobs: usize,
    /// Those of them that can be given out.
    ready: usize,
}

/// One priority.
#[derive(Clone, Debug, Default)]
struct Level {
    lines: BTreeMap<ClassIx, Line>,
    /// Time when each client was last served here; 0: never.
    turns: BTreeMap<UserId, u64>,
}

/// The jobs of one class at one priority.
#[derive(Clone, Debug, Default)]
struct Line {
    by_turn: BTreeSet<(u64, UserId)>,
    jobs: BTreeMap<UserId, BTreeSet<PoolJobId>>,
}

/// Status of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) priority: u8,
    pub(crate) class: ClassIx,
    pub(crate) client: UserId,
    pub(crate) job: PoolJobId,
}

impl Ready {
    /// The class of jobs that ask for this and bar these; it lives as long as a job is in it.
    pub(crate) fn join(&mut self, demand: &Demand, barred: Vec<UserId>) -> ClassIx {
        let kind = (demand.clone(), barred);
        if let Some(ix) = self.by_kind.get(&kind) {
            self.classes[ix.0 as usize].jobs += 1;
            return *ix;
        }
        let class = Class { demand: kind.0.clone(), barred: kind.1.clone(), jobs: 1, ready: 0 };
        let ix = match self.free.pop() {
            Some(ix) => ix,
            None => ClassIx(u32::try_from(self.classes.len()).expect("fewer classes than jobs")),
        };
        match self.classes.get_mut(ix.0 as usize) {
            Some(place) => *place = class,
            None => self.classes.push(class),
        }
        self.by_kind.insert(kind, ix);
        ix
    }

    /// A job leaves its class.
    pub(crate) fn leave(&mut self, ix: ClassIx) {
        let class = &mut self.classes[ix.0 as usize];
        class.jobs -= 1;
        if class.jobs == 0 {
            let kind = (core::mem::take(&mut class.demand), core::mem::take(&mut class.barred));
            self.by_kind.remove(&kind);
            self.free.push(ix);
        }
    }

    /// Demand of the jobs of a class.
    pub(crate) fn demand(&self, ix: ClassIx) -> &Demand {
        &self.classes[ix.0 as usize].demand
    }

    /// Owners that jobs of a class bar.
    pub(crate) fn barred(&self, ix: ClassIx) -> &[UserId] {
        &self.classes[ix.0 as usize].barred
    }

    /// Number of jobs of a class that can be given out.
    pub(crate) fn ready_of(&self, ix: ClassIx) -> usize {
        self.classes[ix.0 as usize].ready
    }

    /// The classes with something to give out that a worker matches.
    pub(crate) fn classes_for(&self, member: &Member) -> impl Iterator<Item = ClassIx> {
        let lines = self.levels.values().flat_map(|level| level.lines.keys());
        lines.filter(|ix| self.matches(**ix, member)).copied()
    }

    /// Jobs that can be given out.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn insert(&mut self, place: Place) {
        let level = self.levels.entry(Reverse(place.priority)).or_default();
        let turn = level.turns.get(&place.client).copied().unwrap_or(0);
        let line = level.lines.entry(place.class).or_default();
        line.by_turn.insert((turn, place.client));
        let more = usize::from(line.jobs.entry(place.client).or_default().insert(place.job));
        self.len += more;
        self.classes[place.class.0 as usize].ready += more;
    }

    pub(crate) fn remove(&mut self, place: Place) {
        let Some(level) = self.levels.get_mut(&Reverse(place.priority)) else {
            return;
        };
        let Some(line) = level.lines.get_mut(&place.class) else {
            return;
        };
        let Some(jobs) = line.jobs.get_mut(&place.client) else {
            return;
        };
        let fewer = usize::from(jobs.remove(&place.job));
        self.len -= fewer;
        self.classes[place.class.0 as usize].ready -= fewer;
        if jobs.is_empty() {
            line.jobs.remove(&place.client);
            let turn = level.turns.get(&place.client).copied().unwrap_or(0);
            line.by_turn.remove(&(turn, place.client));
        }
        if line.jobs.is_empty() {
            level.lines.remove(&place.class);
        }
    }

    /// A client was served: its next turn at this priority comes after everybody else's.
    pub(crate) fn serve(&mut self, priority: u8, client: UserId) {
        self.served += 1;
        let level = self.levels.entry(Reverse(priority)).or_default();
        let before = level.turns.insert(client, self.served).unwrap_or(0);
        for line in level.lines.values_mut() {
            if line.by_turn.remove(&(before, client)) {
                line.by_turn.insert((self.served, client));
            }
        }
    }

    /// The job whose turn it is for a worker.
    pub(crate) fn next_for(&self, member: &Member) -> Option<PoolJobId> {
        if self.len == 0 {
            return None;
        }
        self.levels.values().find_map(|level| {
            let matching =
                || level.lines.iter().filter(|(ix, _)| self.matches(**ix, member)).map(|(_, line)| line);
            let (_, client) = matching().filter_map(|line| line.by_turn.first()).min()?;
            matching().filter_map(|line| line.jobs.get(client)?.first()).min().copied()
        })
    }

    /// True if a worker could do jobs of a class (P14, P15).
    pub(crate) fn matches(&self, ix: ClassIx, member: &Member) -> bool {
        let class = &self.classes[ix.0 as usize];
        let region = &class.demand.region;
        (region.is_none() || *region == member.region)
            && member.specs.meet(&class.demand.requires)
            && class.barred.binary_search(&member.owner).is_err()
    }

    /// Every job in it, for checks.
    pub(crate) fn all(&self) -> impl Iterator<Item = Place> {
        self.levels.iter().flat_map(|(priority, level)| {
            level.lines.iter().flat_map(move |(class, line)| {
                line.jobs.iter().flat_map(move |(client, jobs)| {
                    let place = |job: &PoolJobId| Place {
                        priority: priority.0,
                        class: *class,
                        client: *client,
                        job: *job,
                    };
                    jobs.iter().map(place)
                })
            })
        })
    }
}

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
