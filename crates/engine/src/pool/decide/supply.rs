//! P5, P6, P19: workers show that they live and ask for work.

use super::{Decided, Step, hand_in, owned};
use crate::{Mutant, pool::Pool};
use alloc::vec::Vec;
use muster_model::{
    AssignmentId, Fence, PoolEvent, PoolGrant, PoolHandout, PoolReply, PoolWork, PoolWorkReply, PoolWorkerId,
    UserId,
};

pub(super) fn beat(pool: &mut Pool, (worker, owner): (PoolWorkerId, UserId), step: &mut Step<'_>) -> Decided {
    owned(pool, worker, owner)?;
    see(pool, worker, step);
    Ok(PoolReply::Seen { at: step.context.now })
}

/// The oldest assignment that was not started, else a new one.
pub(super) fn poll(
    pool: &mut Pool,
    (worker, owner): (PoolWorkerId, UserId),
    (start, supply): (bool, bool),
    step: &mut Step<'_>,
) -> Decided {
    owned(pool, worker, owner)?;
    see(pool, worker, step);
    let waiting = assigned(pool, worker).first().copied();
    let handout = match waiting {
        Some(id) => Some(id),
        None if supply => grant(pool, worker, start, step),
        None => None,
    };
    if start && let Some(id) = waiting {
        begin(pool, id, step);
    }
    Ok(PoolReply::Assignment(handout.and_then(|id| handout_of(pool, id))))
}

/// What a worker had started: asked for after a crash (P6).
pub(super) fn resume(
    pool: &mut Pool,
    (worker, owner): (PoolWorkerId, UserId),
    step: &mut Step<'_>,
) -> Decided {
    owned(pool, worker, owner)?;
    see(pool, worker, step);
    let held = pool.members.get(&worker).map(|member| member.live.as_slice()).unwrap_or_default();
    let started = held.iter().filter(|id| pool.lease(**id).is_some_and(|lease| lease.started));
    Ok(PoolReply::Assignments(started.filter_map(|id| handout_of(pool, *id)).collect()))
}

/// Takes results and gives work, in one call.
pub(super) fn work(pool: &mut Pool, work: &PoolWork, step: &mut Step<'_>) -> Decided {
    let worker = work.worker;
    owned(pool, worker, work.owner)?;
    pool.expire(worker, step.context.now, step.events);
    let results = work.results.iter().map(|result| hand_in::hand_in(pool, worker, result, step)).collect();
    see(pool, worker, step);
    let mut ids: Vec<AssignmentId> = assigned(pool, worker);
    ids.truncate(work.max as usize);
    if work.start {
        ids.iter().for_each(|id| begin(pool, *id, step));
    }
    while work.supply && ids.len() < work.max as usize {
        match grant(pool, worker, work.start, step) {
            Some(id) => ids.push(id),
            None => break,
        }
    }
    let assignments = ids.into_iter().filter_map(|id| handout_of(pool, id)).collect();
    Ok(PoolReply::Worked(PoolWorkReply { results, assignments }))
}

/// Notes a sign of life: it renews the worker's leases, those that are not over (P5).
fn see(pool: &mut Pool, worker: PoolWorkerId, step: &mut Step<'_>) {
    let at = step.context.now;
    if !pool.has_bug(Mutant::LeaseRevived) {
        pool.expire(worker, at, step.events);
    }
    step.make_so(pool, PoolEvent::WorkerSeen { worker, at });
    let back = pool.members.get(&worker).is_some_and(|member| !member.online && member.banned.is_none());
    if back {
        step.make_so(pool, PoolEvent::WorkerOnline { worker, at });
    }
}

/// What a worker holds and has not started, oldest first.
fn assigned(pool: &Pool, worker: PoolWorkerId) -> Vec<AssignmentId> {
    let held = pool.members.get(&worker).map(|member| member.live.as_slice()).unwrap_or_default();
    let waiting = held.iter().filter_map(|id| pool.lease(*id)).filter(|lease| !lease.started);
    let mut waiting: Vec<_> = waiting.map(|lease| (lease.granted_at, lease.id)).collect();
    // What was granted in the same moment has an order as well: the same one before and after a restart.
    waiting.sort_unstable();
    waiting.into_iter().map(|(_, id)| id).collect()
}

fn begin(pool: &mut Pool, assignment: AssignmentId, step: &mut Step<'_>) {
    step.make_so(pool, PoolEvent::Started { assignment, at: step.context.now });
}

/// Leases the job whose turn it is to a worker, with a nonce of its own (P5, P14).
fn grant(pool: &mut Pool, worker: PoolWorkerId, started: bool, step: &mut Step<'_>) -> Option<AssignmentId> {
    let member = pool.members.get(&worker)?;
    let full = !member.has_free_slot() && !pool.has_bug(Mutant::PoolSlotsIgnored);
    let drained = member.draining && pool.has_bug(Mutant::PoolDrainIgnored);
    if full || !(member.may_work() || drained && member.online) {
        return None;
    }
    let job = pool.ready.next_for(member)?;
    let open = pool.jobs.get(&job)?;
    let at = step.context.now;
    let fence = Fence(step.context.number(step.drawn));
    step.drawn += 1;
    let assignment = AssignmentId::new(job, open.given + 1);
    let timeout_at = open.timeout.map(|limit| at + limit);
    step.make_so(pool, PoolEvent::Granted(PoolGrant { assignment, worker, fence, started, at, timeout_at }));
    Some(assignment)
}

fn handout_of(pool: &Pool, id: AssignmentId) -> Option<PoolHandout> {
    let priority = pool.jobs.get(&id.job())?.priority;
    Some(PoolHandout { assignment: id, fence: pool.lease(id)?.fence, priority })
}
