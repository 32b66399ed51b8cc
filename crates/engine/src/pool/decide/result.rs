//! P7, P8: a worker submits a result. Its signature was verified before it came here.

use crate::{
    Context, Mutant,
    kernel::{Decided, Decision},
    pool::{Pool, vote},
};
use alloc::sync::Arc;
use muster_model::{
    Fact, Fence, Key, PoolEvent, PoolJobStatus, PoolRejection, PoolResult, PoolTaken, PoolWorkerId,
};

/// Takes a result, after the checks of P8 from the assignment on, in their order.
pub(in crate::pool) fn decide(
    pool: &Pool,
    worker: PoolWorkerId,
    result: &Arc<PoolResult>,
    context: &Context<'_>,
) -> Decided<PoolTaken, PoolRejection> {
    let member = super::worker::known(pool, worker)?;
    let is_signed = member.public_key.as_deref() == Some(&*result.public_key);
    if !is_signed && !pool.has_bug(Mutant::ForeignKeyTaken) {
        return Err(PoolRejection::KeyReplaced.into());
    }
    let id = result.assignment;
    let Some(lease) = pool.lease(id) else {
        return Err(judge_ended(pool, worker, result, context).into());
    };
    if lease.worker != worker && !pool.has_bug(Mutant::AnothersResultTaken) {
        return Err(PoolRejection::AssignmentUnknown.into());
    }
    check_nonce(pool, lease.fence, result)?;
    check_output(pool, result)?;
    let at = context.now;
    let failed = vote::has_failed(result);
    let status = if failed { PoolJobStatus::Failed } else { PoolJobStatus::Completed };
    let taken = PoolTaken { assignment: id, status, at };
    Ok(Decision::new([PoolEvent::ResultTaken { result: Arc::clone(result), at }], taken))
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

/// The reason to refuse a result for an assignment that is not live.
fn judge_ended(
    pool: &Pool,
    worker: PoolWorkerId,
    result: &PoolResult,
    context: &Context<'_>,
) -> PoolRejection {
    let id = result.assignment;
    let known = pool.recent.assignments.get(&id).or(match context.facts.get(&Key::Assignment(id)) {
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
