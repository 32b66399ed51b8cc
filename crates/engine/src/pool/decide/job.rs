//! P13, P18: clients submit jobs and cancel them.

use crate::{
    Context,
    kernel::{Decided, Decision},
    pool::Pool,
};
use alloc::{collections::BTreeSet, sync::Arc, vec::Vec};
use muster_model::{
    AssignmentState, Demand, Fact, Key, PoolCancelReply, PoolEvent, PoolJobId, PoolJobStatus, PoolKeyRecord,
    PoolRejection, PoolSubmission, PoolSubmissionReply, UserId,
};

/// Takes jobs, all or none. A repeat under the same key is answered like the first request.
pub(in crate::pool) fn submit(
    pool: &Pool,
    submission: PoolSubmission,
    context: &Context<'_>,
) -> Decided<PoolSubmissionReply, PoolRejection> {
    if let Some(known) = known_key(pool, &submission, context) {
        let PoolKeyRecord { digest, first, count, at, .. } = known;
        let repeated = Decision::unchanged(PoolSubmissionReply { first, count, at, repeated: true });
        return (digest == submission.digest).then_some(repeated).ok_or(PoolRejection::KeyConflict.into());
    }
    let (first, at) = (PoolJobId(pool.next_job), context.now);
    let count = submission.jobs.len() as u64;
    if first.0 + count > PoolJobId::MAX.0 {
        return Err(PoolRejection::IdsExhausted.into());
    }
    let max = pool.settings.waiting_max;
    if pool.open.get(&submission.client).copied().unwrap_or(0) + count > max {
        return Err(PoolRejection::TooManyWaiting { max }.into());
    }
    if has_too_many_demands(pool, &submission) {
        return Err(PoolRejection::TooManyDemands { max: DEMANDS_MAX }.into());
    }
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let reply = PoolSubmissionReply { first, count, at, repeated: false };
    Ok(Decision::new([PoolEvent::JobsSubmitted { first, submission: Arc::new(submission), at }], reply))
}

/// Ends a job. Workers that still run it learn of the end when they submit their results.
pub(in crate::pool) fn cancel(
    pool: &Pool,
    job: PoolJobId,
    client: Option<UserId>,
    context: &Context<'_>,
) -> Decided<PoolCancelReply, PoolRejection> {
    let of_another = |owner: UserId| client.is_some_and(|client| client != owner);
    let at = context.now;
    let Some(open) = pool.jobs.get(&job) else {
        let end = pool.recent.ends.get(&job).or(match context.facts.get(&Key::PoolEnd(job)) {
            Some(Fact::PoolEnd(end)) => Some(end),
            _ => None,
        });
        let known = end.filter(|end| !of_another(end.client));
        return Err(known.map_or(PoolRejection::JobUnknown, |_| PoolRejection::JobFinished).into());
    };
    if of_another(open.client) {
        return Err(PoolRejection::JobUnknown.into());
    }
    let state = AssignmentState::Revoked;
    let revoked = open.leases.iter().map(|lease| PoolEvent::Ended { assignment: lease.id, state, at });
    let mut events: Vec<PoolEvent> = revoked.collect();
    let status = PoolJobStatus::Cancelled;
    events.push(PoolEvent::JobEnded { job, status, assignment: None, error: None, at });
    Ok(Decision::new(events, PoolCancelReply { job, at }))
}

fn known_key(pool: &Pool, submission: &PoolSubmission, context: &Context<'_>) -> Option<PoolKeyRecord> {
    let (client, key) = (submission.client, submission.key.clone()?);
    let recent = pool.recent.keys.get(&(client, key.clone()));
    recent.cloned().or_else(|| match context.facts.get(&Key::PoolSubmission(client, key)) {
        Some(Fact::PoolSubmission(record)) => Some(record.clone()),
        _ => None,
    })
}

/// True if a client's open jobs would have too many different demands. Jobs that demand nothing do not count.
fn has_too_many_demands(pool: &Pool, submission: &PoolSubmission) -> bool {
    let known = pool.demands.get(&submission.client);
    let asked: BTreeSet<&Demand> = submission.jobs.iter().map(|job| &job.demand).collect();
    let is_new = |demand: &&&Demand| {
        ***demand != Demand::default() && known.is_none_or(|known| !known.contains_key(**demand))
    };
    asked.iter().filter(is_new).count() + known.map_or(0, |known| known.len()) > DEMANDS_MAX
}

/// A worker that asks looks at every class with something to give out, so one client cannot have any number of them.
const DEMANDS_MAX: usize = 1000;
