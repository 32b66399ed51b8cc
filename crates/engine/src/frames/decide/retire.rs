//! S17: ids that are never to be used again, by an operator's word.

use super::{Decided, Draft};
use alloc::boxed::Box;
use muster_model::{
    ChunkState, EntryId, FrameEvent, FrameRejection, FrameReply, FrameTaskId, FrameTaskStatus, RangeEnd,
};

/// Retires a chunk and has its range done anew, also one that is completed, as long as its session is open.
pub(super) fn retire(
    draft: &mut Draft<'_>,
    chunk: u64,
    (task, reason): (Option<FrameTaskId>, Box<str>),
) -> Decided {
    if let Some(task) = draft.farm.chunks.get(&chunk) {
        draft.end_range(task, RangeEnd::Retired, Some(reason));
        return Ok(FrameReply::Done);
    }
    let record = draft.past_chunk(chunk).ok_or(FrameRejection::ChunkUnknown)?;
    if record.state == ChunkState::Retired {
        return Ok(FrameReply::Done);
    }
    let id = task.filter(|task| *task == record.task).ok_or(FrameRejection::ChunkUnknown)?;
    let session = draft.session(&id.session)?;
    let done = draft.ended_task(&id).filter(|task| task.status == FrameTaskStatus::Completed);
    let done = done.ok_or(FrameRejection::ChunkUnknown)?;
    draft.retire(record.ids, (&id, record.attempt, &record.worker), &reason);
    draft.set_apart(EntryId::Chunk(chunk), (&id.session, &session.output), &record.worker);
    draft.add(FrameEvent::RangeReopened { record: Box::new(done.clone()), at: draft.now });
    Ok(FrameReply::Done)
}
