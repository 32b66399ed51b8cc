//! P3, P5, P14: owners bring workers and steer them, workers show that they live, admins ban them.

use crate::{
    Mutant,
    kernel::{Decided, Decision},
    pool::{Pool, state::Member},
};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{PoolEvent, PoolRegistration, PoolRejection, PoolWorkerId, Timestamp, UserId};

type Changed = Decided<PoolWorkerId, PoolRejection>;

/// Stop or resumption of a worker's new assignments.
pub(in crate::pool) struct Drain {
    pub(in crate::pool) worker: PoolWorkerId,
    /// Owner on whose behalf it happens; `None` for an admin.
    pub(in crate::pool) owner: Option<UserId>,
    pub(in crate::pool) draining: bool,
}

/// Registers a worker under a name that no other worker has, whoever owns it.
pub(in crate::pool) fn register(pool: &Pool, registration: Box<PoolRegistration>, at: Timestamp) -> Changed {
    if pool.names.contains_key(&registration.name) {
        return Err(PoolRejection::NameTaken.into());
    }
    if pool.owned.get(&registration.owner).is_some_and(|owned| *owned >= WORKERS_PER_OWNER) {
        return Err(PoolRejection::TooManyWorkers { max: WORKERS_PER_OWNER }.into());
    }
    let worker = PoolWorkerId(pool.next_worker);
    Ok(Decision::new([PoolEvent::WorkerRegistered { worker, registration, at }], worker))
}

/// Stops or resumes new assignments.
pub(in crate::pool) fn drain(pool: &Pool, drain: &Drain, at: Timestamp) -> Changed {
    let Drain { worker, owner, draining } = *drain;
    let member = known(pool, worker)?;
    if owner.is_some_and(|owner| owner != member.owner) {
        return Err(PoolRejection::WorkerUnknown.into());
    }
    let changes = member.draining != draining;
    Ok(Decision::new(changes.then_some(PoolEvent::WorkerDraining { worker, draining, at }), worker))
}

/// Lifts a ban.
pub(in crate::pool) fn unban(pool: &Pool, worker: PoolWorkerId, reason: Box<str>, at: Timestamp) -> Changed {
    let is_banned = known(pool, worker)?.banned.is_some();
    Ok(Decision::new(is_banned.then_some(PoolEvent::WorkerUnbanned { worker, reason, at }), worker))
}

/// Notes a sign of life; a worker that was offline is back.
pub(in crate::pool) fn see(pool: &Pool, worker: PoolWorkerId, at: Timestamp) -> Vec<PoolEvent> {
    let mut events = Vec::from([PoolEvent::WorkerSeen { worker, at }]);
    let is_back = pool.members.get(&worker).is_some_and(|member| !member.online && member.banned.is_none());
    events.extend(is_back.then_some(PoolEvent::WorkerOnline { worker, at }));
    events
}

/// Takes a worker offline that was silent for too long (P5).
pub(in crate::pool) fn silence(pool: &Pool, worker: PoolWorkerId, at: Timestamp) -> Option<PoolEvent> {
    let member = pool.members.get(&worker)?;
    let silent = member.online && member.heard + pool.settings.offline_after <= at;
    let offline = silent && !pool.has_bug(Mutant::PoolSilenceIgnored);
    offline.then_some(PoolEvent::WorkerOffline { worker, at })
}

/// Refuses callers that do not own a worker: for them it does not exist (P5).
pub(in crate::pool) fn check_owner(
    pool: &Pool,
    worker: PoolWorkerId,
    owner: UserId,
) -> Result<(), PoolRejection> {
    let member = known(pool, worker)?;
    (member.owner == owner).then_some(()).ok_or(PoolRejection::WorkerUnknown)
}

pub(in crate::pool) fn known(pool: &Pool, worker: PoolWorkerId) -> Result<&Member, PoolRejection> {
    pool.members.get(&worker).ok_or(PoolRejection::WorkerUnknown)
}

/// Every worker is kept in memory.
const WORKERS_PER_OWNER: usize = 10_000;
