//! Q3, Q11, Q15: what operators do to devices and workers.

use super::{Context, Decided, Decision};
use crate::devices::state::State;
use alloc::{boxed::Box, vec, vec::Vec};
use muster_model::{Event, Labels, Name, Rejection};

pub(crate) fn label(state: &State, lane: Name, labels: Labels, context: &Context<'_>) -> Decided {
    let ix = state.lanes.ix(&lane).ok_or(Rejection::LaneUnknown)?;
    if state.lanes[ix].labels.as_deref().cloned().unwrap_or_default() == labels {
        return Ok(Decision::done(Vec::new()));
    }
    Ok(Decision::done(vec![Event::LaneLabelled { lane, labels, at: context.now }]))
}

pub(crate) fn return_to_service(
    state: &State,
    lane: Name,
    note: Option<Box<str>>,
    context: &Context<'_>,
) -> Decided {
    let ix = state.lanes.ix(&lane).ok_or(Rejection::LaneUnknown)?;
    if !state.lanes[ix].failed {
        return Err(Rejection::LaneInService.into());
    }
    Ok(Decision::done(vec![Event::LaneReturned { lane, note, at: context.now }]))
}

pub(crate) fn drain(state: &State, worker: Name, draining: bool, context: &Context<'_>) -> Decided {
    let ix = state.workers.ix(&worker).ok_or(Rejection::WorkerUnknown)?;
    if state.workers[ix].draining == draining {
        return Ok(Decision::done(Vec::new()));
    }
    Ok(Decision::done(vec![Event::WorkerDraining { worker, draining, at: context.now }]))
}

pub(crate) fn set_cap(state: &State, worker: Name, cap: Option<u32>, context: &Context<'_>) -> Decided {
    let ix = state.workers.ix(&worker).ok_or(Rejection::WorkerUnknown)?;
    if state.workers[ix].cap == cap {
        return Ok(Decision::done(Vec::new()));
    }
    Ok(Decision::done(vec![Event::WorkerCapped { worker, cap, at: context.now }]))
}

pub(crate) fn rotate_secret(state: &State, worker: Name, hash: [u8; 32], context: &Context<'_>) -> Decided {
    state.workers.ix(&worker).ok_or(Rejection::WorkerUnknown)?;
    let old_until = context.now + state.settings.secret_overlap;
    Ok(Decision::done(vec![Event::SecretRotated { worker, hash, old_until, at: context.now }]))
}
