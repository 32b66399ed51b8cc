//! Q14: a PC takes rows by claim, confirmed at once, each lease to be renewed by itself.

use super::{
    Context, Decided, Decision,
    pull::{Terms, grants},
};
use crate::state::State;
use alloc::vec::Vec;
use muster_model::{Event, LeaseKind, Millis, Name, Rejection, Reply, TaskId};

/// The leases for a claim; the reply is filled in once they are granted. An unknown worker gets none.
pub(crate) fn decide(
    state: &State,
    worker: &Name,
    (max, lease): (u32, Millis),
    context: &Context<'_>,
) -> Decision {
    let Some(ix) = state.workers.ix(worker) else {
        return Decision::new(Vec::new(), Reply::Claimed(Vec::new()));
    };
    let terms = Terms {
        kind: LeaseKind::Claim,
        lease,
    };
    let mut events = Vec::new();
    for grant in grants(state, ix, (max, terms), context) {
        let (task, attempt, at) = (grant.task, grant.attempt, grant.at);
        events.push(Event::LeaseGranted(grant));
        events.push(Event::LeaseConfirmed { task, attempt, at });
    }
    Decision::new(events, Reply::Claimed(Vec::new()))
}

/// Prolongs a lease if it is there and the worker's.
pub(crate) fn renew(
    state: &State,
    id: TaskId,
    (worker, lease): (&Name, Millis),
    context: &Context<'_>,
) -> Decided {
    let leased = state
        .task(id)
        .filter(|task| task.lease.is_some() && state.workers[task.worker].name == *worker);
    let Some(task) = leased else {
        let known = state.task(id).is_some() || super::report::ended_task(state, id, context).is_some();
        return if known {
            Ok(Decision::new(Vec::new(), Reply::Renewed(false)))
        } else {
            Err(Rejection::TaskUnknown)
        };
    };
    let until = (context.now + lease).max(task.lease.map_or(context.now, |lease| lease.until));
    Ok(Decision::new(
        Vec::from([Event::LeaseRenewed { task: id, until }]),
        Reply::Renewed(true),
    ))
}
