//! S3, S15, S21: what became of things that had to happen outside.

use super::{Decided, Draft};
use alloc::boxed::Box;
use muster_model::{
    EntryId, FrameEvent, FrameRejection, FrameReply, FrameTaskId, Millis, QuarantineRecord, RangeEnd,
    SessionId, SessionStatus,
};

/// A push was answered, or not: the next try follows after 1, 2, 4 s; then another worker gets the range.
pub(super) fn pushed(draft: &mut Draft<'_>, id: &FrameTaskId, attempt: u16, acked: bool) -> Decided {
    let Some((_, task)) = draft.live(id).filter(|(_, task)| task.attempt == attempt) else {
        return Ok(FrameReply::Done);
    };
    let tries = task.lease.as_ref().and_then(|lease| lease.pushes);
    let (Some(tries), None) = (tries, task.confirmed_at) else {
        return Ok(FrameReply::Done);
    };
    if acked {
        super::progress::confirm(draft, id);
    } else if let Some(pause) = pause_after(draft, tries) {
        let next = draft.now + pause;
        draft.add(FrameEvent::PushFailed { task: id.clone(), attempt, next });
    } else {
        draft.end_range(id, RangeEnd::Unreachable, None);
    }
    Ok(FrameReply::Done)
}

/// How long to wait after so many tries; none after the last.
fn pause_after(draft: &Draft<'_>, tries: u8) -> Option<Millis> {
    let pause = PUSH_PAUSES_S.get(usize::from(tries.saturating_sub(1))).copied();
    let endless = || draft.farm.has_bug(crate::Mutant::PushForEver).then_some(1);
    pause.or_else(endless).map(Millis::from_secs)
}

/// Files are where they belong.
pub(super) fn moved(draft: &mut Draft<'_>, entry: EntryId, files: u64) -> Decided {
    if draft.farm.quarantine.contains_key(&entry) {
        draft.add(FrameEvent::QuarantineMoved { entry, files, at: draft.now });
    }
    Ok(FrameReply::Done)
}

/// A person has looked at them; entries that are not moved yet cannot have been looked at.
pub(super) fn confirm(draft: &mut Draft<'_>, record: Box<QuarantineRecord>, note: Box<str>) -> Decided {
    if !record.moved || draft.farm.quarantine.contains_key(&record.id) {
        return Err(FrameRejection::EntryMoving);
    }
    draft.add(FrameEvent::QuarantineConfirmed { record, note, at: draft.now });
    Ok(FrameReply::Done)
}

/// The manifest is written: the session is complete, unless something of it was reopened meanwhile. What the manifest
/// had to leave out is said with it (S23).
pub(super) fn merged(draft: &mut Draft<'_>, id: &SessionId, fault: Option<Box<str>>) -> Decided {
    if draft.farm.sessions.get(id).is_some_and(|session| session.merging) {
        draft.end_session(id, SessionStatus::Completed, fault);
    }
    Ok(FrameReply::Done)
}

/// How long after a failed push the next follows (S3).
const PUSH_PAUSES_S: [i64; 3] = [1, 2, 4];
