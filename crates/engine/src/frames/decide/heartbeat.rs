//! S2, S8, S10, S19: a worker lives, or comes back in a new term.

use super::{Answer, Draft, draft::Transition};
use crate::frames::{
    rule::{health, pressure},
    state::Renderer,
};
use alloc::vec::Vec;
use muster_model::{Beat, FrameEvent, FrameReply, Heartbeat, Held, Name, Order, RendererState};

/// Takes a sign of life, moves its sender's state by it, and tells it what it is to do.
pub(super) fn heartbeat(draft: &mut Draft<'_>, heartbeat: Heartbeat) -> Answer {
    let worker = heartbeat.worker.clone();
    let renderer = draft.renderer(&worker)?;
    let moved = health::verdict(draft.farm, renderer, &heartbeat, draft.now);
    let is_slow = health::is_slow(&draft.farm.settings, renderer, &heartbeat, draft.now);
    let pressure = pressure::level_at(renderer, heartbeat.queue_ratio, is_slow);
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
    Ok(FrameReply::Beat(Beat { state, epoch, pressure: pressure::level(renderer), orders }))
}

/// Whether a worker still holds what it says: the same task, attempt and ids.
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
