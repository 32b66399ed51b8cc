//! P3, P14: owners bring workers and steer them, admins shut them out.

use super::{Decided, Step, owned};
use crate::{Mutant, pool::Pool};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    AssignmentState, Event, PoolEvent, PoolRegistration, PoolRejection, PoolReply, PoolWorkerId, Timestamp,
    UserId,
};

/// Takes a worker under a name that no other has, whoever's that is.
pub(super) fn register(pool: &mut Pool, registration: Box<PoolRegistration>, step: &mut Step<'_>) -> Decided {
    if pool.names.contains_key(&registration.name) {
        return Err(PoolRejection::NameTaken);
    }
    if pool.owned.get(&registration.owner).is_some_and(|owned| *owned >= WORKERS_PER_OWNER) {
        return Err(PoolRejection::TooManyWorkers { max: WORKERS_PER_OWNER });
    }
    let worker = PoolWorkerId(pool.next_worker);
    step.make_so(pool, PoolEvent::WorkerRegistered { worker, registration, at: step.context.now });
    answer(pool, worker)
}

pub(super) fn set_key(
    pool: &mut Pool,
    (worker, owner): (PoolWorkerId, UserId),
    public_key: Box<str>,
    step: &mut Step<'_>,
) -> Decided {
    owned(pool, worker, owner)?;
    step.make_so(pool, PoolEvent::WorkerKeyed { worker, public_key, at: step.context.now });
    answer(pool, worker)
}

pub(super) fn drain(
    pool: &mut Pool,
    (worker, owner): (PoolWorkerId, Option<UserId>),
    draining: bool,
    step: &mut Step<'_>,
) -> Decided {
    let member = pool.members.get(&worker).ok_or(PoolRejection::WorkerUnknown)?;
    if owner.is_some_and(|owner| owner != member.owner) {
        return Err(PoolRejection::WorkerUnknown);
    }
    if member.draining != draining {
        step.make_so(pool, PoolEvent::WorkerDraining { worker, draining, at: step.context.now });
    }
    answer(pool, worker)
}

/// Shuts a worker out: what it holds goes back, without costing the jobs an attempt.
pub(super) fn ban(pool: &mut Pool, worker: PoolWorkerId, reason: Box<str>, step: &mut Step<'_>) -> Decided {
    pool.members.get(&worker).ok_or(PoolRejection::WorkerUnknown)?;
    pool.shut_out(worker, reason, (step.context.now, step.events));
    answer(pool, worker)
}

pub(super) fn unban(pool: &mut Pool, worker: PoolWorkerId, reason: Box<str>, step: &mut Step<'_>) -> Decided {
    let member = pool.members.get(&worker).ok_or(PoolRejection::WorkerUnknown)?;
    if member.banned.is_some() {
        step.make_so(pool, PoolEvent::WorkerUnbanned { worker, reason, at: step.context.now });
    }
    answer(pool, worker)
}

impl Pool {
    /// Bans a worker and takes back what it holds (invariant 11).
    pub(in crate::pool) fn shut_out(
        &mut self,
        worker: PoolWorkerId,
        reason: Box<str>,
        (at, events): (Timestamp, &mut Vec<Event>),
    ) {
        let held = self.members.get(&worker).map(|member| member.live.clone()).unwrap_or_default();
        self.make_so(PoolEvent::WorkerBanned { worker, reason, at }, events);
        if self.has_bug(Mutant::BanKeepsLease) {
            return;
        }
        for assignment in held {
            self.make_so(PoolEvent::Ended { assignment, state: AssignmentState::Revoked, at }, events);
            self.follow_up(assignment.job(), None, (at, events));
        }
    }
}

fn answer(pool: &Pool, worker: PoolWorkerId) -> Decided {
    let record = pool.worker_record(worker).ok_or(PoolRejection::WorkerUnknown)?;
    Ok(PoolReply::Worker(record.into()))
}

/// Every worker stands in memory.
const WORKERS_PER_OWNER: usize = 10_000;
