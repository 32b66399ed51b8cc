//! S6, S9: what an operator does to workers.

use super::{Decided, Draft};
use alloc::format;
use muster_model::{FrameEvent, FrameRejection, FrameReply, Name, RangeEnd, RendererState};

/// Takes a worker off the list; its tasks go back at once.
pub(super) fn remove(draft: &mut Draft<'_>, worker: &Name, itself: bool) -> Decided {
    let renderer = draft.renderer(worker)?;
    match renderer.state {
        RendererState::Removed => return Ok(FrameReply::Done),
        RendererState::Quarantined if itself => return Err(FrameRejection::Quarantined),
        _ => {}
    }
    let cause = if itself { "it unregistered" } else { "removed by an operator" };
    draft.move_renderer(worker, (renderer.state, RendererState::Removed), cause);
    draft.give_back(worker, RangeEnd::GivenBack);
    Ok(FrameReply::Done)
}

/// Lets no task be given out any more, or again; outlives restarts.
pub(super) fn broadcast(draft: &mut Draft<'_>, pause: bool) -> Decided {
    if draft.farm.paused != pause {
        draft.add(FrameEvent::Broadcast { paused: pause, at: draft.now });
    }
    Ok(FrameReply::Done)
}

/// Puts a worker into quarantine by hand.
pub(super) fn quarantine(draft: &mut Draft<'_>, worker: &Name, reason: &str) -> Decided {
    let renderer = draft.renderer(worker)?;
    match renderer.state {
        RendererState::Quarantined => {}
        RendererState::Removed => return Err(FrameRejection::Removed),
        from => draft.quarantine(worker, from, &format!("by an operator: {reason}")),
    }
    Ok(FrameReply::Done)
}

/// Lets a worker out of quarantine: it starts anew, without a count.
pub(super) fn approve(draft: &mut Draft<'_>, worker: &Name, reason: &str) -> Decided {
    let renderer = draft.renderer(worker)?;
    if renderer.state != RendererState::Quarantined {
        return Err(FrameRejection::NotQuarantined { state: renderer.state });
    }
    draft.add(FrameEvent::FailuresCleared { worker: worker.clone() });
    let cause = format!("approved by an operator: {reason}");
    draft.move_renderer(worker, (RendererState::Quarantined, RendererState::Registered), &cause);
    Ok(FrameReply::Done)
}
