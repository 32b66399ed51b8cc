//! Q14: a PC takes rows by claim, confirmed at once, each lease to be renewed by itself. A claimed row is completed or
//! failed by its id.

use super::{
    Context, Decided, Decision,
    pull::{Terms, offers},
};
use crate::{
    Mutant,
    devices::{
        rule::retry::{Ending, end_attempt},
        state::{State, Task},
    },
};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{Event, LeaseKind, Millis, Name, Outcome, Rejection, TaskId};

/// A worker's claim of rows.
pub(crate) struct Claim<'a> {
    pub(crate) worker: &'a Name,
    /// Most rows it takes.
    pub(crate) max: u32,
    pub(crate) lease: Millis,
}

/// The leases for a claim. An unknown worker gets none.
pub(crate) fn decide(state: &State, claim: &Claim<'_>, context: &Context<'_>) -> Decision {
    let Some(ix) = state.workers.ix(claim.worker) else {
        return Decision::done(Vec::new());
    };
    let terms = Terms { kind: LeaseKind::Claim, lease: claim.lease, max: claim.max };
    let mut events = Vec::new();
    for offer in offers(state, ix, terms, context) {
        let grant = offer.grant;
        let (task, attempt, at) = (grant.task, grant.attempt, grant.at);
        events.push(Event::LeaseGranted(grant));
        events.push(Event::LeaseConfirmed { task, attempt, at });
    }
    Decision::done(events)
}

/// Prolongs a lease if it is there and the worker's.
pub(crate) fn renew(state: &State, id: TaskId, claim: &Claim<'_>, context: &Context<'_>) -> Decided<bool> {
    let is_theirs = |task: &Task| {
        state.workers[task.worker].name == *claim.worker || state.has_bug(Mutant::StrangerRenews)
    };
    let leased = state.task(id).filter(|task| task.lease.is_some() && is_theirs(task));
    let Some(task) = leased else {
        let known = state.task(id).is_some() || super::report::ended_task(state, id, context).is_some();
        return known.then_some(Decision::unchanged(false)).ok_or(Rejection::TaskUnknown.into());
    };
    let until = (context.now + claim.lease).max(task.lease.map_or(context.now, |lease| lease.until));
    Ok(Decision::new([Event::LeaseRenewed { task: id, until }], true))
}

/// End of an attempt.
pub(crate) struct End {
    pub(crate) task: TaskId,
    /// Holder that it must have, if the caller named one.
    pub(crate) worker: Option<Name>,
    pub(crate) outcome: Outcome,
    pub(crate) result: Option<Box<str>>,
}

/// Ends the live attempt of a task.
pub(crate) fn end(state: &State, end: End, context: &Context<'_>) -> Decided {
    let End { task: id, worker, outcome, result } = end;
    let Some(task) = state.task(id) else {
        let ended = super::report::ended_task(state, id, context).ok_or(Rejection::TaskUnknown)?;
        return Err(Rejection::TaskNotRunning { status: ended.status }.into());
    };
    let holder = &state.workers[task.worker].name;
    if worker.is_some_and(|worker| worker != *holder) {
        return Err(Rejection::NotHolder { holder: holder.clone() }.into());
    }
    if task.lease.is_none() {
        return Err(Rejection::TaskNotRunning { status: task.status() }.into());
    }
    let mut events = Vec::new();
    if !task.confirmed_at.is_some() {
        events.push(Event::LeaseConfirmed { task: id, attempt: task.attempt, at: context.now });
    }
    events.extend(end_attempt(state, task, Ending { task: id, outcome, result, at: context.now }));
    Ok(Decision::done(events))
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// Q14: a claim is confirmed at once and renewed by itself; N2: it is not handed out again.
    #[test]
    fn a_claim_is_confirmed_and_renewed() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1,d2
            1s   submit r1
            2s   claim PC-01 max=1 lease=60s  -> granted r1/d1#1; confirmed r1/d1 => r1/d1#1
            20s  pull PC-01 max=0             => nothing
            40s  renew PC-01 r1/d1 lease=60s  -> renewed r1/d1 100s => true
            41s  renew PC-02 r1/d1 lease=60s  => false
            60s  heartbeat PC-01
            99s  tick
            100s tick                         -> ended r1/d1#1 timeout; queued r1/d1
            101s renew PC-01 r1/d1            => false
            ",
        );
    }

    /// Q14: complete and fail by id; another's row or one not running is refused.
    #[test]
    fn rows_are_completed_and_failed_by_id() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1 attempts=2
            2s  claim PC-01 max=2             => r1/d1#1,r1/d2#1
            3s  complete r1/d1 by=PC-02       => ! NotHolder PC-01
            3s  complete r1/d1 by=PC-01       -> ended r1/d1#1 ok; closed r1/d1 Completed => r1/d1 Completed 1/2
            4s  complete r1/d1                => ! TaskNotRunning { status: Completed }
            5s  fail r1/d2 error=boom         -> ended r1/d2#1 failed; queued r1/d2 => r1/d2 Pending 1/2
            6s  fail r1/d2                    => ! TaskNotRunning { status: Pending }
            7s  claim PC-01                   => r1/d2#2
            8s  fail r1/d2 error=boom         -> ended r1/d2#2 failed; closed r1/d2 Failed (boom); error d2; over r1 Success => r1/d2 Failed 2/2
            ",
        );
    }

    /// Q7, Q14: a row of a cancelled run that is completed answers cancelled.
    #[test]
    fn a_completed_row_of_a_cancelled_run_is_cancelled() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1
            1s  submit r1
            2s  claim PC-01 max=1             => r1/d1#1
            3s  cancel r1                     => r1 Cancelled
            4s  complete r1/d1 by=PC-01       -> ended r1/d1#1 ok; closed r1/d1 Cancelled => r1/d1 Cancelled 1/3
            5s  complete r1/d1                => ! TaskNotRunning { status: Cancelled }
            ",
        );
    }

    /// Q14: the sweep says how many rows and runs it ended.
    #[test]
    fn the_sweep_counts() {
        check(
            "
            0s    pull PC-01 max=0 devices=d1
            1s    submit r1 attempts=1
            2s    claim PC-01 lease=1000s
            900s  renew PC-01 r1/d1 lease=3000s
            1202s sweep                       => jobs=1 tasks=1
            ",
        );
    }
}
