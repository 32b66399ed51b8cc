//! S4, S13, S17: a worker tells how far it is and takes more ids; an operator retires ids.

use super::{
    Answer,
    draft::{Draft, Holder},
};
use crate::{Mutant, frames::state::Renderer};
use alloc::boxed::Box;
use muster_model::{
    ChunkState, FrameEvent, FrameRejection, FrameReply, FrameTaskId, FrameTaskStatus, Name, Progress,
    RangeEnd, Reopening, SessionId,
};

/// Takes a progress report; the first of an assignment confirms it.
pub(super) fn progress(draft: &mut Draft<'_>, progress: Box<Progress>) -> Answer {
    let renderer = draft.renderer(&progress.worker)?;
    let named = progress.task.as_ref();
    if named.is_some_and(|task| task.session != progress.session) {
        return Err(FrameRejection::TaskUnknown);
    }
    let task = held_task(renderer, named, Some(&progress.session))?;
    confirm(draft, &task);
    draft.add(FrameEvent::RangeProgressed { progress, task, at: draft.now });
    Ok(FrameReply::Done)
}

/// Grants a further chunk for the task a worker holds.
pub(super) fn more_ids(
    draft: &mut Draft<'_>,
    worker: &Name,
    task: Option<FrameTaskId>,
    count: u64,
) -> Answer {
    let renderer = draft.renderer(worker)?;
    let task = held_task(renderer, task.as_ref(), None)?;
    let (_, live) = draft.live(&task).ok_or(FrameRejection::HoldsNone)?;
    if live.lease.as_ref().is_some_and(|lease| lease.extra.len() >= EXTRA_CHUNKS_MAX) {
        return Err(FrameRejection::TooManyChunks { max: EXTRA_CHUNKS_MAX });
    }
    let ids =
        draft.farm.ids.next(draft.farm.settings.chunk_size, count).ok_or(FrameRejection::IdsExhausted)?;
    confirm(draft, &task);
    let (worker, attempt, at) = (worker.clone(), live.attempt, draft.now);
    draft.add(FrameEvent::IdsGranted { task, worker, attempt, ids, at });
    Ok(FrameReply::Ids(ids))
}

/// Notes that a worker is at a task, unless that is known.
pub(super) fn confirm(draft: &mut Draft<'_>, task: &FrameTaskId) {
    if let Some((_, live)) = draft.live(task).filter(|(_, live)| live.confirmed_at.is_none()) {
        let (task, attempt, at) = (task.clone(), live.attempt, draft.now);
        draft.add(FrameEvent::RangeConfirmed { task, attempt, at });
    }
}

/// The task that is meant: the one named, else the only one the worker holds.
fn held_task(
    renderer: &Renderer,
    named: Option<&FrameTaskId>,
    session: Option<&SessionId>,
) -> Result<FrameTaskId, FrameRejection> {
    if let Some(named) = named {
        let held = renderer.live.contains(named).then(|| named.clone());
        return held.ok_or(FrameRejection::NotHolder { holder: None });
    }
    let mut held = renderer.live.iter().filter(|task| session.is_none_or(|session| task.session == *session));
    match (held.next(), held.next()) {
        (Some(task), None) => Ok(task.clone()),
        _ => Err(FrameRejection::HoldsNone),
    }
}

/// Chunks that one attempt may have beyond its first: ids are for all, and never come back (S13).
const EXTRA_CHUNKS_MAX: usize = 1000;

/// Retires a chunk and has its range done anew, also one that is completed, as long as its session is open.
pub(super) fn retire(
    draft: &mut Draft<'_>,
    chunk: u64,
    task: Option<FrameTaskId>,
    reason: Box<str>,
) -> Answer {
    if let Some(task) = draft.farm.chunks.get(&chunk) {
        draft.end_range(task, RangeEnd::Retired, Some(reason));
        return Ok(FrameReply::Done);
    }
    let record = draft.past_chunk(chunk).ok_or(FrameRejection::ChunkUnknown)?;
    if record.state == ChunkState::Retired {
        return Ok(FrameReply::Done);
    }
    let id = task.filter(|task| *task == record.task).ok_or(FrameRejection::ChunkUnknown)?;
    let output = &draft.session(&id.session)?.output;
    let done = draft.ended_task(&id).filter(|task| task.status == FrameTaskStatus::Completed);
    // Else they are left over from an attempt that was done anew before.
    let done = done.filter(|task| task.attempt == record.attempt);
    let first = done.map(|task| task.ids).filter(|ids| ids.chunk != chunk);
    for ids in [record.ids].into_iter().chain(first) {
        let holder = Holder { task: &id, attempt: record.attempt, worker: &record.worker, output };
        draft.retire(ids, &holder, &reason);
    }
    if let Some(done) = done.filter(|_| !draft.farm.has_bug(Mutant::RetiredResultKept)) {
        let (record, cause) = (Box::new(done.clone()), Reopening::Retired);
        draft.add(FrameEvent::RangeReopened { record, cause, at: draft.now });
    }
    Ok(FrameReply::Done)
}
