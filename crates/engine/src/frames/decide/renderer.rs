//! S1, S4, S6, S8, S19: workers register, beat, come back after a failover, and are removed, quarantined or approved.

use super::{Answer, Draft, draft::Transition};
use crate::{
    Mutant,
    frames::{rule::health, state::Renderer},
};
use alloc::{boxed::Box, format, vec::Vec};
use muster_model::{
    Beat, FrameEvent, FrameRejection, FrameReply, Heartbeat, Held, Name, Order, RangeEnd, Registration,
    RegistrationReply, Removal, RendererState, SessionId,
};

/// Takes a worker, or takes it anew: what the incarnation before held goes back at once.
pub(super) fn register(draft: &mut Draft<'_>, registration: Box<Registration>) -> Answer {
    let known = draft.farm.renderers.get(&registration.worker);
    let quarantined = known.is_some_and(|renderer| renderer.state == RendererState::Quarantined);
    if quarantined && !draft.farm.has_bug(Mutant::QuarantinedRegisters) {
        return Err(FrameRejection::Quarantined);
    }
    if !draft.farm.has_bug(Mutant::IncarnationKeepsRange) {
        // A range that ends its worker again and again is to blame, however quickly that one is back (S8).
        for task in draft.held(&registration.worker) {
            draft.fail_range(&task, RangeEnd::Replaced, None);
        }
    }
    let worker = registration.worker.clone();
    draft.add(FrameEvent::RendererRegistered { registration, at: draft.now });
    if let Some(renderer) = known.filter(|renderer| renderer.state != RendererState::Registered) {
        let transition = Transition { from: renderer.state, to: RendererState::Registered };
        draft.move_renderer(&worker, transition, "it registered anew");
    }
    Ok(FrameReply::Registered(RegistrationReply { epoch: draft.farm.epoch }))
}

/// Takes a sign of life, moves its sender's state by it, and tells it what it is to do.
pub(super) fn heartbeat(draft: &mut Draft<'_>, heartbeat: Heartbeat) -> Answer {
    let worker = heartbeat.worker.clone();
    let renderer = draft.renderer(&worker)?;
    let moved = health::verdict(draft.farm, renderer, &heartbeat, draft.now);
    let is_slow = health::is_slow(&draft.farm.settings, renderer, &heartbeat, draft.now);
    let pressure = health::pressure_at(renderer, heartbeat.queue_ratio, is_slow);
    draft.add(FrameEvent::HeartbeatHeard { heartbeat, at: draft.now });
    if renderer.state == RendererState::Removed {
        draft.hear_zombie(&worker);
    }
    if let Some((to, cause)) = moved {
        draft.move_renderer(&worker, Transition { from: renderer.state, to }, cause);
    }
    let state = moved.map_or(renderer.state, |(to, _)| to);
    let orders = orders(draft, &worker, renderer);
    Ok(FrameReply::Beat(Beat { state, epoch: draft.farm.epoch, pressure, orders }))
}

/// Takes a worker over into this term: what it is at is its own still, or it is told to stop (S19).
pub(super) fn rebind(draft: &mut Draft<'_>, worker: &Name, held: Option<Held>) -> Answer {
    let renderer = draft.renderer(worker)?;
    draft.add(FrameEvent::RendererBound { worker: worker.clone(), kept: None });
    let mut stop = None;
    if let Some(held) = held {
        match holds(draft, renderer, &held) {
            true => draft.add(FrameEvent::RendererBound { worker: worker.clone(), kept: Some(held.task) }),
            false => stop = Some(Order::Stop(held.task)),
        }
    }
    let mut orders = orders(draft, worker, renderer);
    orders.retain(|order| *order != Order::Rebind && Some(order) != stop.as_ref());
    orders.extend(stop);
    let (state, epoch) = (renderer.state, draft.farm.epoch);
    Ok(FrameReply::Beat(Beat { state, epoch, pressure: health::pressure(renderer), orders }))
}

/// True if a worker still holds what it says: the same task, attempt and ids.
fn holds(draft: &Draft<'_>, renderer: &Renderer, held: &Held) -> bool {
    let live = renderer.live.contains(&held.task).then(|| draft.live(&held.task)).flatten();
    live.is_some_and(|(_, task)| task.attempt == held.attempt && task.ids.chunk == held.chunk)
}

fn orders(draft: &mut Draft<'_>, worker: &Name, renderer: &Renderer) -> Vec<Order> {
    let mut orders = Vec::new();
    match renderer.state {
        // It holds nothing any more, and begins anew.
        RendererState::Lost => return Vec::from([Order::Reregister]),
        state if state.may_work() => {
            if !renderer.bound {
                orders.push(Order::Rebind);
            }
            if draft.farm.paused {
                orders.push(Order::Pause);
            } else if renderer.resume_owed > 0 && renderer.bound {
                orders.push(Order::Resume);
            }
        }
        _ => {}
    }
    orders.extend(renderer.stops.keys().cloned().map(Order::Stop));
    if (renderer.resume_owed > 0 && renderer.bound) || !renderer.stops.is_empty() {
        draft.add(FrameEvent::OrdersTold { worker: worker.clone() });
    }
    orders
}

/// Takes a worker off the list; its tasks go back at once, and it is told to stop (S6).
pub(super) fn remove(draft: &mut Draft<'_>, worker: &Name, itself: bool) -> Answer {
    let renderer = draft.renderer(worker)?;
    match renderer.state {
        // Removing a zombie once more says that it is gone for good.
        RendererState::Removed => return dismissed(draft, worker),
        RendererState::Quarantined if itself => return Err(FrameRejection::Quarantined),
        _ => {}
    }
    let cause = if itself { "it unregistered" } else { "removed by an operator" };
    // A worker that removes itself knows of it, and one that was lost before is simply removed.
    let is_known = itself || renderer.state == RendererState::Lost;
    let removal = if is_known { Removal::Known } else { Removal::Waiting };
    let mut sessions: Vec<SessionId> = renderer.live.iter().map(|task| task.session.clone()).collect();
    sessions.dedup();
    let transition = Transition { from: renderer.state, to: RendererState::Removed };
    draft.move_renderer(worker, transition, cause);
    draft.give_back(worker, RangeEnd::GivenBack);
    draft.change_removal(worker, removal, if is_known { Vec::new() } else { sessions });
    Ok(FrameReply::Done)
}

/// Notes that a removed worker acknowledged its removal by push.
pub(super) fn dismissed(draft: &mut Draft<'_>, worker: &Name) -> Answer {
    if draft.renderer(worker)?.is_unanswered() {
        draft.change_removal(worker, Removal::Known, Vec::new());
    }
    Ok(FrameReply::Done)
}

/// Lets no task be given out any more, or again; outlives restarts.
pub(super) fn broadcast(draft: &mut Draft<'_>, pause: bool) -> Answer {
    if draft.farm.paused != pause {
        draft.add(FrameEvent::Broadcast { paused: pause, at: draft.now });
    }
    Ok(FrameReply::Done)
}

/// Puts a worker into quarantine by hand.
pub(super) fn quarantine(draft: &mut Draft<'_>, worker: &Name, reason: &str) -> Answer {
    let renderer = draft.renderer(worker)?;
    match renderer.state {
        RendererState::Quarantined => {}
        RendererState::Removed => return Err(FrameRejection::Removed),
        from => draft.quarantine(worker, from, &format!("by an operator: {reason}")),
    }
    Ok(FrameReply::Done)
}

/// Lets a worker out of quarantine: it starts anew, without a count.
pub(super) fn approve(draft: &mut Draft<'_>, worker: &Name, reason: &str) -> Answer {
    let renderer = draft.renderer(worker)?;
    if renderer.state != RendererState::Quarantined {
        return Err(FrameRejection::NotQuarantined { state: renderer.state });
    }
    draft.add(FrameEvent::FailuresCleared { worker: worker.clone() });
    let cause = format!("approved by an operator: {reason}");
    let transition = Transition { from: RendererState::Quarantined, to: RendererState::Registered };
    draft.move_renderer(worker, transition, &cause);
    Ok(FrameReply::Done)
}
