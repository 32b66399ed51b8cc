//! S3, S6, S15, S21, S23b: what became of things that had to happen outside.

use super::{
    Answer,
    draft::{Draft, Holder},
};
use crate::{Mutant, frames::state::Session};
use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use muster_model::{
    AlertKind, EntryId, FrameEvent, FrameRange, FrameRejection, FrameReply, FrameTaskId, FrameTaskRecord,
    FrameTaskStatus, Millis, Name, QuarantineRecord, RangeEnd, Removal, Reopening, SessionId, SessionStatus,
    SkippedRange,
};

/// A push was answered, or not: the next try follows after 1, 2, 4 s; then another worker gets the range.
pub(super) fn pushed(draft: &mut Draft<'_>, id: &FrameTaskId, attempt: u16, acked: bool) -> Answer {
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

/// Delay after so many tries; none after the last.
fn pause_after(draft: &Draft<'_>, tries: u8) -> Option<Millis> {
    let pause = PUSH_PAUSES_S.get(usize::from(tries.saturating_sub(1))).copied();
    let endless = || draft.farm.has_bug(crate::Mutant::PushForEver).then_some(1);
    pause.or_else(endless).map(Millis::from_secs)
}

/// Files are where they belong.
pub(super) fn moved(draft: &mut Draft<'_>, entry: EntryId, files: u64) -> Answer {
    if draft.farm.quarantine.contains_key(&entry) {
        draft.add(FrameEvent::QuarantineMoved { entry, files, at: draft.now });
    }
    Ok(FrameReply::Done)
}

/// A person has looked at them; entries that are not moved yet cannot have been looked at. With its last entry confirmed,
/// a removed worker that never answered is no zombie any more (S6).
pub(super) fn confirm(draft: &mut Draft<'_>, record: Box<QuarantineRecord>, note: Box<str>) -> Answer {
    if !record.moved || draft.farm.quarantine.contains_key(&record.id) {
        return Err(FrameRejection::EntryMoving);
    }
    if let EntryId::Worker(worker, session) = &record.id
        && let Some(renderer) = draft.farm.renderers.get(worker)
        && renderer.removal == Some(Removal::Silent)
        && renderer.removed_from.contains(session)
    {
        let mut left = renderer.removed_from.clone();
        left.retain(|id| id != session);
        let to = if left.is_empty() { Removal::Known } else { Removal::Silent };
        draft.change_removal(worker, to, left);
    }
    draft.add(FrameEvent::QuarantineConfirmed { record, note, at: draft.now });
    Ok(FrameReply::Done)
}

/// The manifest is written: the session has ended, unless something of it was reopened since it was asked for. A range that the manifest
/// skips is rendered again while it has attempts left (S23b). A session without some of its frames says so: a strict one
/// has failed, a relaxed one is completed with an alert.
pub(super) fn merged(draft: &mut Draft<'_>, id: &SessionId, mark: u64, skipped: &[SkippedRange]) -> Answer {
    let is_due = |session: &&Session| match session.merging {
        Some(due) => due == mark || draft.farm.has_bug(Mutant::OldManifestTaken),
        None => false,
    };
    let Some(session) = draft.farm.sessions.get(id).filter(is_due) else {
        return Ok(FrameReply::Done);
    };
    let mut missing = Missing::of(session);
    let mut reopened = false;
    let mut out = Vec::new();
    for range in skipped {
        let Some(done) = skipped_task(draft, range) else { continue };
        if done.failures + 1 < draft.farm.settings.max_attempts && !draft.farm.has_bug(Mutant::SkipHidden) {
            render_again(draft, &session.output, &done, range);
            reopened = true;
        } else {
            out.push((done, range.reason.clone()));
        }
    }
    if reopened {
        return Ok(FrameReply::Done);
    }
    for (done, reason) in out {
        missing.add(FrameRange { start: done.id.start, end: done.end }, &reason);
        missing.worker.get_or_insert_with(|| done.worker.clone());
        if !draft.farm.has_bug(Mutant::SkipHidden) {
            draft.add(FrameEvent::RangeSkipped { record: done, reason, at: draft.now });
        }
    }
    end_merged(draft, id, session, &missing);
    Ok(FrameReply::Done)
}

fn end_merged(draft: &mut Draft<'_>, id: &SessionId, session: &Session, missing: &Missing) {
    let Some(text) = missing.text().filter(|_| !draft.farm.has_bug(Mutant::SkipHidden)) else {
        return draft.end_session(id, SessionStatus::Completed, None);
    };
    if session.strict {
        return draft.end_session(id, SessionStatus::Failed, Some(text.into()));
    }
    if let Some(worker) = missing.worker.clone() {
        let message = format!("session {id} was completed without some of its frames: {text}");
        draft.alert(AlertKind::FramesSkipped, &worker, &message);
    }
    draft.end_session(id, SessionStatus::Completed, Some(text.into()));
}

/// The completed range that a merge would skip, if it still stands as the merge saw it.
fn skipped_task(draft: &Draft<'_>, range: &SkippedRange) -> Option<Box<FrameTaskRecord>> {
    let done = draft.ended_task(&range.task)?;
    let is_same = done.status == FrameTaskStatus::Completed && done.ids.chunk == range.chunk;
    is_same.then(|| Box::new(done.clone()))
}

/// Retires the chunk of a completed range, sets its files apart and has it rendered once more (S13, S16, S23b).
fn render_again(draft: &mut Draft<'_>, output: &str, done: &FrameTaskRecord, range: &SkippedRange) {
    let holder = Holder { task: &done.id, attempt: done.attempt, worker: &done.worker, output };
    draft.retire(done.ids, &holder, "skipped");
    let record = Box::new(done.clone());
    let cause = Reopening::Skipped(range.reason.clone());
    draft.add(FrameEvent::RangeReopened { record, cause, at: draft.now });
}

/// The frames that an ended session lacks, for people.
struct Missing {
    ranges: Vec<FrameRange>,
    reason: Option<Box<str>>,
    worker: Option<Name>,
}

impl Missing {
    fn of(session: &Session) -> Self {
        let mut missing = Self { ranges: Vec::new(), reason: None, worker: None };
        for record in session.failed.values() {
            let reason = record.error.as_deref().unwrap_or("failed");
            missing.add(FrameRange { start: record.id.start, end: record.end }, reason);
            missing.worker = Some(record.worker.clone());
        }
        missing
    }

    fn add(&mut self, range: FrameRange, reason: &str) {
        self.reason.get_or_insert_with(|| reason.into());
        match self.ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => self.ranges.push(range),
        }
    }

    /// The sentence about them; `None` if no frame is missing.
    fn text(&self) -> Option<String> {
        let mut ranges: Vec<FrameRange> = self.ranges.clone();
        ranges.sort_unstable_by_key(|range| range.start);
        let reason = self.reason.as_deref()?;
        let frames: u64 = ranges.iter().map(|range| range.len()).sum();
        let named: Vec<String> = ranges.iter().take(NAMED_MAX).map(FrameRange::to_string).collect();
        let more = if ranges.len() > NAMED_MAX { ", …" } else { "" };
        let noun = if frames == 1 { "frame" } else { "frames" };
        Some(format!("{frames} {noun} missing, {}{more}: {reason}", named.join(", ")))
    }
}

/// Ranges named in a sentence; the session lists all of them.
const NAMED_MAX: usize = 8;

/// Delays between a failed push and the next (S3).
const PUSH_PAUSES_S: [i64; 3] = [1, 2, 4];
