//! P13, P18: clients hand in jobs and end them.

use super::{Decided, Step};
use crate::pool::Pool;
use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};
use muster_model::{
    AssignmentState, Demand, Fact, Key, PoolCancelReply, PoolEvent, PoolJobId, PoolJobStatus, PoolKeyRecord,
    PoolRejection, PoolReply, PoolSubmission, PoolSubmissionReply, UserId,
};

/// Takes jobs, all or none; under a key that was used before, answers what was answered then.
pub(super) fn submit(pool: &mut Pool, submission: PoolSubmission, step: &mut Step<'_>) -> Decided {
    if let Some(known) = known_key(pool, &submission, step) {
        let same = known.digest == submission.digest;
        let PoolKeyRecord { first, count, at, .. } = known;
        let repeated = PoolReply::Submitted(PoolSubmissionReply { first, count, at, repeated: true });
        return same.then_some(repeated).ok_or(PoolRejection::KeyConflict);
    }
    let (first, at) = (PoolJobId(pool.next_job), step.context.now);
    let count = submission.jobs.len() as u64;
    if first.0 + count > PoolJobId::MAX.0 {
        return Err(PoolRejection::IdsExhausted);
    }
    let max = pool.settings.waiting_max;
    if pool.open.get(&submission.client).copied().unwrap_or(0) + count > max {
        return Err(PoolRejection::TooManyWaiting { max });
    }
    if asks_for_too_much(pool, &submission) {
        return Err(PoolRejection::TooManyDemands { max: DEMANDS_MAX });
    }
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    step.make_so(pool, PoolEvent::JobsSubmitted { first, submission: Arc::new(submission), at });
    Ok(PoolReply::Submitted(PoolSubmissionReply { first, count, at, repeated: false }))
}

/// Ends a job; whoever is at it hears that when it hands in.
pub(super) fn cancel(
    pool: &mut Pool,
    (job, client): (PoolJobId, Option<UserId>),
    step: &mut Step<'_>,
) -> Decided {
    let of_another = |owner: UserId| client.is_some_and(|client| client != owner);
    let at = step.context.now;
    let Some(open) = pool.jobs.get(&job) else {
        let end = pool.recent.ends.get(&job).or(match step.context.facts.get(&Key::PoolEnd(job)) {
            Some(Fact::PoolEnd(end)) => Some(end),
            _ => None,
        });
        let known = end.filter(|end| !of_another(end.client));
        return Err(known.map_or(PoolRejection::JobUnknown, |_| PoolRejection::JobFinished));
    };
    if of_another(open.client) {
        return Err(PoolRejection::JobUnknown);
    }
    let out: Vec<_> = open.leases.iter().map(|lease| lease.id).collect();
    for assignment in out {
        step.make_so(pool, PoolEvent::Ended { assignment, state: AssignmentState::Revoked, at });
    }
    let status = PoolJobStatus::Cancelled;
    step.make_so(pool, PoolEvent::JobEnded { job, status, assignment: None, error: None, at });
    Ok(PoolReply::Cancelled(PoolCancelReply { job, at }))
}

fn known_key(pool: &Pool, submission: &PoolSubmission, step: &Step<'_>) -> Option<PoolKeyRecord> {
    let (client, key) = (submission.client, submission.key.clone()?);
    let recent = pool.recent.keys.get(&(client, key.clone()));
    recent.cloned().or_else(|| match step.context.facts.get(&Key::PoolSubmission(client, key)) {
        Some(Fact::PoolSubmission(record)) => Some(record.clone()),
        _ => None,
    })
}

/// Whether a client's open jobs would ask for too many different things. Jobs that ask for nothing do not count.
fn asks_for_too_much(pool: &Pool, submission: &PoolSubmission) -> bool {
    let known = pool.demands.get(&submission.client);
    let asked: BTreeSet<&Demand> = submission.jobs.iter().map(|job| &job.demand).collect();
    let is_new = |demand: &&&Demand| {
        ***demand != Demand::default() && known.is_none_or(|known| !known.contains_key(**demand))
    };
    asked.iter().filter(is_new).count() + known.map_or(0, |known| known.len()) > DEMANDS_MAX
}

/// A worker that asks looks at every class with something to give out, so one client cannot have any number of them.
const DEMANDS_MAX: usize = 1000;
