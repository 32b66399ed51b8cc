//! S1, S9: a worker enrols.

use super::{Answer, Draft, draft::Transition};
use crate::Mutant;
use alloc::boxed::Box;
use muster_model::{
    FrameEvent, FrameRejection, FrameReply, RangeEnd, Registration, RegistrationReply, RendererState,
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
