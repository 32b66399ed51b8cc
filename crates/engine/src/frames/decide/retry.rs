//! S26b: failed frames are rendered again.

use super::{
    Answer,
    draft::{Draft, Holder},
};
use alloc::vec::Vec;
use muster_model::{
    ClosedSession, FrameEvent, FrameRange, FrameRejection, FrameReply, FrameTaskId, FrameTaskRecord,
    RetryRequest, SessionReply, SessionStatus,
};

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
