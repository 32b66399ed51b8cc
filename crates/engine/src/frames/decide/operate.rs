//! S6, S9: what an operator does to workers.

use super::{Answer, Draft, draft::Transition};
use alloc::{format, vec::Vec};
use muster_model::{
    FrameEvent, FrameRejection, FrameReply, Name, RangeEnd, Removal, RendererState, SessionId,
};

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
