//! P7, P8: a worker hands in a result. Its signature was verified before it came here.

use super::Step;
use crate::{
    Mutant,
    pool::{Pool, vote},
};
use alloc::{sync::Arc, vec::Vec};
use muster_model::{
    AssignmentId, AssignmentState, Event, Fact, Fence, Key, PoolEvent, PoolJobId, PoolJobStatus,
    PoolRejection, PoolResult, PoolTaken, PoolWorkerId, Timestamp,
};

/// Takes a result, after the checks of P8 from the assignment on, in their order.
pub(super) fn hand_in(
    pool: &mut Pool,
    worker: PoolWorkerId,
    result: &Arc<PoolResult>,
    step: &mut Step<'_>,
) -> Result<PoolTaken, PoolRejection> {
    let member = pool.members.get(&worker).ok_or(PoolRejection::WorkerUnknown)?;
    let is_signed = member.public_key.as_deref() == Some(&*result.public_key);
    if !is_signed && !pool.has_bug(Mutant::ForeignKeyTaken) {
        return Err(PoolRejection::KeyReplaced);
    }
    let id = result.assignment;
    let Some(lease) = pool.lease(id).copied() else {
        return Err(judge_ended(pool, worker, result, step));
    };
    if lease.worker != worker && !pool.has_bug(Mutant::AnothersResultTaken) {
        return Err(PoolRejection::AssignmentUnknown);
    }
    check_nonce(pool, lease.fence, result)?;
    check_output(pool, result)?;
    let at = step.context.now;
    step.make_so(pool, PoolEvent::ResultTaken { result: Arc::clone(result), at });
    pool.follow_up(id.job(), Some(result), (at, step.events));
    let failed = vote::has_failed(result);
    let status = if failed { PoolJobStatus::Failed } else { PoolJobStatus::Completed };
    Ok(PoolTaken { assignment: id, status, at })
}

fn check_nonce(pool: &Pool, fence: Fence, result: &PoolResult) -> Result<(), PoolRejection> {
    let good = result.nonce == Some(fence) || pool.has_bug(Mutant::NonceIgnored);
    good.then_some(()).ok_or(PoolRejection::NonceInvalid)
}

/// Compares a result's hash with its output (P11). A vote needs an output: only what the coordinator computes from it
/// counts (P15). A failure is no vote and needs none.
fn check_output(pool: &Pool, result: &PoolResult) -> Result<(), PoolRejection> {
    let Some(job) = pool.jobs.get(&result.assignment.job()) else {
        return Ok(());
    };
    let is_redundant = job.redundancy > 1;
    if is_redundant && pool.has_bug(Mutant::DeclaredHashTrusted) {
        return Ok(());
    }
    if is_redundant && result.vote.is_none() && !vote::has_failed(result) {
        return Err(PoolRejection::OutputRequired);
    }
    let is_wrong = job.verify && result.hash_matches == Some(false);
    if is_wrong && !pool.has_bug(Mutant::HashNotVerified) {
        return Err(PoolRejection::HashMismatch);
    }
    Ok(())
}

/// Why a result for an assignment that is not live is refused.
fn judge_ended(pool: &Pool, worker: PoolWorkerId, result: &PoolResult, step: &Step<'_>) -> PoolRejection {
    let id = result.assignment;
    let known = pool.recent.assignments.get(&id).or(match step.context.facts.get(&Key::Assignment(id)) {
        Some(Fact::Assignment(record)) => Some(record),
        _ => None,
    });
    let Some(record) = known.filter(|record| record.worker == worker) else {
        return PoolRejection::AssignmentUnknown;
    };
    if let Err(invalid) = check_nonce(pool, record.fence, result) {
        return invalid;
    }
    match record.digest {
        Some(digest) => PoolRejection::AlreadySubmitted { identical: digest == result.digest },
        None => PoolRejection::NotSubmittable,
    }
}

impl Pool {
    /// Ends what is over of a worker's leases, before anything it asks is decided (P5).
    pub(in crate::pool) fn expire(&mut self, worker: PoolWorkerId, now: Timestamp, events: &mut Vec<Event>) {
        let Some(member) = self.members.get(&worker) else {
            return;
        };
        let over = |id: &&AssignmentId| self.lease(**id).is_some_and(|lease| self.is_over(lease, now));
        let over: Vec<AssignmentId> = member.live.iter().filter(over).copied().collect();
        for assignment in over {
            if self.has_bug(Mutant::PoolLeaseForEver) {
                continue;
            }
            self.make_so(PoolEvent::Ended { assignment, state: AssignmentState::Expired, at: now }, events);
            self.follow_up(assignment.job(), None, (now, events));
        }
    }

    /// What follows for a job after one of its assignments ended: its own end, or another attempt.
    pub(in crate::pool) fn follow_up(
        &mut self,
        id: PoolJobId,
        result: Option<&PoolResult>,
        (at, events): (Timestamp, &mut Vec<Event>),
    ) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        let Some(verdict) = vote::judge(self, job, result) else {
            return;
        };
        let judged = vote::judged(self, job, &verdict);
        let out: Vec<AssignmentId> = job.leases.iter().map(|lease| lease.id).collect();
        for assignment in out {
            let state = AssignmentState::Revoked;
            self.make_so(PoolEvent::Ended { assignment, state, at }, events);
        }
        let vote::Verdict { status, assignment, error, .. } = verdict;
        self.make_so(PoolEvent::JobEnded { job: id, status, assignment, error, at }, events);
        for (worker, agreed) in judged {
            self.make_so(PoolEvent::WorkerJudged { worker, agreed, at }, events);
        }
    }
}
