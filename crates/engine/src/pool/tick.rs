//! Does what is due: silence, leases that are over, jobs that took too long (P5), workers who dissented too often (P15).

use super::{Pool, state::PoolTimer};
use crate::{Context, Mutant};
use alloc::{boxed::Box, format, vec::Vec};
use muster_model::{Event, PoolEvent, PoolWorkerId, Timestamp};

/// What the next due timer makes true, made so; `None` when none is due.
pub(crate) fn next_due(pool: &mut Pool, context: &Context<'_>, events: &mut Vec<Event>) -> Option<()> {
    let now = context.now;
    if pool.timers.first()?.0 > now {
        return None;
    }
    match pool.timers.pop_first()?.1 {
        PoolTimer::Member(worker) => pool.look_at(worker, now, events),
        PoolTimer::Timeout(assignment) => {
            if let Some(worker) = pool.lease(assignment).map(|lease| lease.worker) {
                pool.expire(worker, now, events);
            }
        }
    }
    Some(())
}

impl Pool {
    fn look_at(&mut self, worker: PoolWorkerId, now: Timestamp, events: &mut Vec<Event>) {
        let Some(member) = self.members.get_mut(&worker) else {
            return;
        };
        member.armed = None;
        if !member.asks.is_empty() {
            // An open request is a sign of life for as long as it is open.
            member.heard = now;
        }
        let silent = member.online && member.heard + self.settings.offline_after <= now;
        if silent && !self.has_bug(Mutant::PoolSilenceIgnored) {
            self.make_so(PoolEvent::WorkerOffline { worker, at: now }, events);
        }
        self.expire(worker, now, events);
        self.arm(worker);
    }

    /// What follows from what was decided: who dissented too often is shut out (P15).
    pub(crate) fn consequences(&mut self, now: Timestamp, events: &mut Vec<Event>) {
        while let Some(worker) = self.dirty.judged.pop_first() {
            let limit = self.settings.ban_after;
            let guilty = |pool: &Self| {
                pool.members.get(&worker).is_some_and(|m| m.banned.is_none() && m.dissents >= limit)
            };
            if guilty(self) && !self.has_bug(Mutant::DissentForgiven) {
                let reason: Box<str> = format!("{limit} dissents from majorities").into();
                self.shut_out(worker, reason, (now, events));
            }
        }
    }
}
