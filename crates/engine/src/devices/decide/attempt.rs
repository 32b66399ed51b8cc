//! Q14: a claimed row is completed or failed by its id.

use super::{Context, Decided, Decision};
use crate::devices::{
    rule::retry::{Ending, end_attempt},
    state::State,
};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{Event, Name, Outcome, Rejection, TaskId};

/// What ends the attempt, and how.
pub(crate) struct End {
    pub(crate) task: TaskId,
    /// Who must hold it, where the caller said so.
    pub(crate) worker: Option<Name>,
    pub(crate) outcome: Outcome,
    pub(crate) result: Option<Box<str>>,
}

/// Ends the live attempt of a task.
pub(crate) fn decide(state: &State, end: End, context: &Context<'_>) -> Decided {
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
    if task.confirmed_at.is_none() {
        events.push(Event::LeaseConfirmed { task: id, attempt: task.attempt, at: context.now });
    }
    events.extend(end_attempt(state, task, Ending { task: id, outcome, result, at: context.now }));
    Ok(Decision::done(events))
}
