//! S2, S6, S26: sessions are submitted, steered and retried.

use super::{
    Answer,
    draft::{Draft, Holder},
};
use crate::Mutant;
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    ClosedSession, FrameEvent, FrameRange, FrameRejection, FrameReply, FrameTaskId, FrameTaskRecord,
    RetryRequest, SessionId, SessionReply, SessionStatus, SessionSubmission, Steering,
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

/// Reopens the failed ranges of a session, all or those that were named. A session that has ended runs again.
pub(super) fn retry(draft: &mut Draft<'_>, request: RetryRequest) -> Answer {
    let RetryRequest { session: id, frames, closed } = request;
    let is_meant = |record: &&FrameTaskRecord| {
        let range = FrameRange { start: record.id.start, end: record.end };
        frames.as_ref().is_none_or(|frames| frames.iter().any(|frames| has_common_frame(*frames, range)))
    };
    if let Some(session) = draft.farm.sessions.get(&id) {
        let failed: Vec<FrameTaskRecord> =
            session.failed.values().map(|record| &**record).filter(is_meant).cloned().collect();
        if failed.is_empty() {
            return Err(FrameRejection::NothingFailed);
        }
        reopen(draft, &session.output, &failed);
        return Ok(FrameReply::Session(SessionReply { status: session.status, repeated: false }));
    }
    let known = draft.closed_session(&id).ok_or(FrameRejection::SessionUnknown)?;
    if known.status == SessionStatus::Cancelled {
        return Err(FrameRejection::SessionEnded { session: id, status: known.status });
    }
    // The session may have ended again since it was read.
    let closed = closed.filter(|closed| closed.record.ended_at == known.ended_at && is_whole(closed));
    let closed = closed.ok_or(FrameRejection::SessionChanged)?;
    let failed: Vec<FrameTaskRecord> = closed.ranges.iter().filter(is_meant).cloned().collect();
    if failed.is_empty() && closed.uncut.is_empty() {
        return Err(FrameRejection::NothingFailed);
    }
    let output = closed.record.output.clone();
    draft.add(FrameEvent::SessionReopened { closed: ClosedSession { ..closed }.into(), at: draft.now });
    reopen(draft, &output, &failed);
    Ok(FrameReply::Session(SessionReply { status: SessionStatus::Running, repeated: false }))
}

/// Has failed ranges rendered again. The fragment of one that was only skipped counts no longer.
fn reopen(draft: &mut Draft<'_>, output: &str, failed: &[FrameTaskRecord]) {
    for record in failed {
        let FrameTaskRecord { id: task, ids, attempt, worker, .. } = record;
        if record.digest.is_some() {
            draft.retire(*ids, &Holder { task, attempt: *attempt, worker, output }, "retried");
        }
        let task: FrameTaskId = task.clone();
        draft.add(FrameEvent::RangeRetried { task, at: draft.now });
    }
}

/// True if every frame of an ended session is accounted for. Pruning deletes its ranges before its own row.
fn is_whole(closed: &ClosedSession) -> bool {
    let ranges = closed.ranges.iter().map(|range| FrameRange { start: range.id.start, end: range.end });
    let open: u64 = ranges.chain(closed.uncut.iter().copied()).map(|range| range.len()).sum();
    closed.record.completed_frames + open == closed.record.total_frames
}

const fn has_common_frame(one: FrameRange, other: FrameRange) -> bool {
    one.start < other.end && other.start < one.end
}
