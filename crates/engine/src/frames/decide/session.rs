//! S26: sessions are taken, paused, resumed, cancelled.

use super::{Answer, Draft};
use crate::Mutant;
use alloc::boxed::Box;
use muster_model::{
    FrameEvent, FrameRejection, FrameReply, SessionId, SessionReply, SessionStatus, SessionSubmission,
    Steering,
};

/// Takes a session; the same id and body again is the same session.
pub(super) fn submit(draft: &mut Draft<'_>, submission: Box<SessionSubmission>) -> Answer {
    let open = draft.farm.sessions.get(&submission.session).map(|session| (session.status, session.digest));
    let closed = || draft.closed_session(&submission.session).map(|session| (session.status, session.digest));
    if let Some((status, digest)) = open.or_else(closed) {
        return match digest == submission.digest || draft.farm.has_bug(Mutant::AnySessionBody) {
            true => Ok(FrameReply::Session(SessionReply { status, repeated: true })),
            false => Err(FrameRejection::SessionConflict),
        };
    }
    draft.add(FrameEvent::SessionSubmitted { submission, at: draft.now });
    Ok(FrameReply::Session(SessionReply { status: SessionStatus::Running, repeated: false }))
}

/// Pauses, resumes or cancels a session; doing it twice is doing it once.
pub(super) fn steer(draft: &mut Draft<'_>, id: &SessionId, to: Steering) -> Answer {
    let closed = draft.closed_session(id).map(|closed| closed.status);
    if (to, closed) == (Steering::Cancel, Some(SessionStatus::Cancelled)) {
        return Ok(FrameReply::Session(SessionReply { status: SessionStatus::Cancelled, repeated: true }));
    }
    let session = draft.session(id)?;
    let status = match to {
        Steering::Pause => SessionStatus::Paused,
        Steering::Resume => SessionStatus::Running,
        Steering::Cancel => {
            draft.end_session(id, SessionStatus::Cancelled, None);
            return Ok(FrameReply::Session(SessionReply {
                status: SessionStatus::Cancelled,
                repeated: false,
            }));
        }
    };
    let repeated = session.status == status;
    if !repeated {
        draft.add(FrameEvent::SessionSteered { session: id.clone(), status, at: draft.now });
    }
    Ok(FrameReply::Session(SessionReply { status, repeated }))
}
