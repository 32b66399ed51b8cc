//! S17: ids that are never to be used again, by an operator's word.

use super::{
    Answer,
    draft::{Draft, Holder},
};
use crate::Mutant;
use alloc::boxed::Box;
use muster_model::{
    ChunkState, FrameEvent, FrameRejection, FrameReply, FrameTaskId, FrameTaskStatus, RangeEnd, Reopening,
};

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
