//! P5, P6, P14, P15: leases are granted, found again after a crash, and end; a job may end with its last one.

use crate::{
    Mutant,
    pool::{Pool, state::Lease, vote},
};
use alloc::vec::Vec;
use muster_model::{
    AssignmentId, AssignmentState, Fence, PoolEvent, PoolGrant, PoolHandout, PoolJobId, PoolResult,
    PoolWorkerId, Timestamp,
};

/// A worker's request for one job.
pub(in crate::pool) struct Request {
    pub(in crate::pool) worker: PoolWorkerId,
    /// The worker begins at once.
    pub(in crate::pool) started: bool,
    /// Number that the fence is made of.
    pub(in crate::pool) fence: u128,
    pub(in crate::pool) at: Timestamp,
}

/// Leases the job whose turn it is to a worker, with a nonce of its own (P5, P14).
pub(in crate::pool) fn grant(pool: &Pool, request: Request) -> Option<PoolGrant> {
    let Request { worker, started, fence, at } = request;
    let member = pool.members.get(&worker)?;
    let full = !member.has_free_slot() && !pool.has_bug(Mutant::PoolSlotsIgnored);
    let drained = member.draining && pool.has_bug(Mutant::PoolDrainIgnored);
    if full || !(member.may_work() || drained && member.online) {
        return None;
    }
    let job = pool.ready.next_for(member)?;
    let open = pool.jobs.get(&job)?;
    let assignment = AssignmentId::new(job, open.given + 1);
    let timeout_at = open.timeout.map(|limit| at + limit);
    Some(PoolGrant { assignment, worker, fence: Fence(fence), started, at, timeout_at })
}

/// Assignments that a worker holds and has not started, oldest first.
pub(in crate::pool) fn assigned(pool: &Pool, worker: PoolWorkerId) -> Vec<AssignmentId> {
    let waiting = leases_of(pool, worker).filter(|lease| !lease.started);
    let mut waiting: Vec<_> = waiting.map(|lease| (lease.granted_at, lease.id)).collect();
    // Assignments granted at the same moment have an order as well: the same one before and after a restart.
    waiting.sort_unstable();
    waiting.into_iter().map(|(_, id)| id).collect()
}

/// Assignments that a worker had started: it asks for them after a crash (P6).
pub(in crate::pool) fn started(pool: &Pool, worker: PoolWorkerId) -> Vec<PoolHandout> {
    let started = leases_of(pool, worker).filter(|lease| lease.started);
    started.filter_map(|lease| handout_of(pool, lease.id)).collect()
}

/// An assignment as its worker is given it.
pub(in crate::pool) fn handout_of(pool: &Pool, id: AssignmentId) -> Option<PoolHandout> {
    let priority = pool.jobs.get(&id.job())?.priority;
    Some(PoolHandout { assignment: id, fence: pool.lease(id)?.fence, priority })
}

/// Leases of a worker that are over, by its silence or by their jobs' own limits (P5).
pub(in crate::pool) fn overdue(pool: &Pool, worker: PoolWorkerId, now: Timestamp) -> Vec<AssignmentId> {
    if pool.has_bug(Mutant::PoolLeaseForEver) {
        return Vec::new();
    }
    leases_of(pool, worker).filter(|lease| pool.is_over(lease, now)).map(|lease| lease.id).collect()
}

/// The end of a job, if it is over now that one of its assignments ended, with this result or with none. Otherwise the
/// job has another attempt, or waits for those that are under way.
pub(in crate::pool) fn follow_up(
    pool: &Pool,
    id: PoolJobId,
    result: Option<&PoolResult>,
    at: Timestamp,
) -> Vec<PoolEvent> {
    let ended = pool.jobs.get(&id).and_then(|job| Some((job, vote::judge(pool, job, result)?)));
    let Some((job, verdict)) = ended else {
        return Vec::new();
    };
    let judged = vote::judged(pool, job, &verdict);
    let state = AssignmentState::Revoked;
    let revoked = job.leases.iter().map(|lease| PoolEvent::Ended { assignment: lease.id, state, at });
    let mut events: Vec<PoolEvent> = revoked.collect();
    let vote::Verdict { status, assignment, error, .. } = verdict;
    events.push(PoolEvent::JobEnded { job: id, status, assignment, error, at });
    events.extend(judged.into_iter().map(|(worker, agreed)| PoolEvent::WorkerJudged { worker, agreed, at }));
    events
}

fn leases_of(pool: &Pool, worker: PoolWorkerId) -> impl Iterator<Item = &Lease> {
    let live = pool.members.get(&worker).into_iter().flat_map(|member| &member.live);
    live.filter_map(|id| pool.lease(*id))
}
