//! S5, S5b, S17, S26: a range is handed in, or given up.

use super::{
    Answer,
    draft::{Draft, Files},
    progress,
};
use crate::{
    Mutant,
    frames::state::{FrameTask, Session},
};
use alloc::{boxed::Box, format};
use muster_model::{
    AlertKind, ChunkRecord, ChunkState, Completion, CompletionReply, EntryId, FrameEvent, FrameRejection,
    FrameReply, FrameTaskId, FrameTaskRecord, Name, RangeEnd,
};

/// Takes the result of the live attempt; says the same again to whoever repeats it; refuses everything else.
pub(super) fn complete(draft: &mut Draft<'_>, completion: Box<Completion>) -> Answer {
    let id = completion.task.clone();
    match draft.live(&id) {
        Some((session, task)) => complete_live(draft, session, task, completion),
        None => complete_past(draft, &completion),
    }
}

/// A worker's word that its attempt failed.
pub(super) struct Failure {
    pub(super) task: FrameTaskId,
    pub(super) worker: Option<Name>,
    pub(super) attempt: Option<u16>,
    pub(super) error: Box<str>,
}

/// Ends an attempt badly; it counts towards the diagnosis (S8).
pub(super) fn fail(draft: &mut Draft<'_>, failure: Failure) -> Answer {
    let Failure { task: id, worker, attempt, error } = failure;
    let id = &id;
    let Some((_, task)) = draft.live(id) else {
        return Err(past(draft, id));
    };
    if !speaks_of(task, worker.as_ref(), attempt) {
        return Err(FrameRejection::NotHolder { holder: Some(task.worker.clone()) });
    }
    progress::confirm(draft, id);
    let worker = task.worker.clone();
    if draft.fail_range(id, RangeEnd::Failed, Some(error)) {
        let state = draft.renderer(&worker)?.state;
        draft.blame(&worker, state);
    }
    Ok(FrameReply::Done)
}

fn complete_live(
    draft: &mut Draft<'_>,
    session: &Session,
    task: &FrameTask,
    mut completion: Box<Completion>,
) -> Answer {
    let holder = task.worker.clone();
    let fenced = speaks_of(task, completion.worker.as_ref(), completion.attempt);
    if !fenced && !draft.farm.has_bug(Mutant::LateCompletionTaken) {
        return late(draft, &completion, Some(holder));
    }
    if completion.chunk != task.ids.chunk && !draft.farm.has_bug(Mutant::LateCompletionTaken) {
        return match completion.attempt {
            None if is_past_chunk_of(draft, &completion) => late(draft, &completion, Some(holder)),
            _ => foreign(draft, &completion, task.ids.chunk),
        };
    }
    if completion.range != task.range {
        return Err(FrameRejection::RangeForeign { expected: task.range });
    }
    completion.dropped = completion.dropped.max(task.dropped);
    let dropped = completion.dropped;
    if session.strict && dropped > 0 && !draft.farm.has_bug(Mutant::StrictForgotten) {
        if !completion.dry {
            draft.fail_range(
                &completion.task,
                RangeEnd::FramesDropped,
                Some(format!("{dropped} frames dropped").into()),
            );
        }
        return Err(FrameRejection::FramesDropped { dropped });
    }
    let attempt = task.attempt;
    if !completion.dry {
        progress::confirm(draft, &completion.task);
        let (worker, at) = (holder.clone(), draft.now);
        draft.add(FrameEvent::RangeCompleted { completion, worker, attempt, at });
    }
    Ok(FrameReply::Accepted(CompletionReply { repeated: false, worker: holder, attempt }))
}

/// The range is done, waits for another worker, or is none.
fn complete_past(draft: &mut Draft<'_>, completion: &Completion) -> Answer {
    let id = &completion.task;
    // A range that the manifest skips counts as failed, but its result was accepted.
    if let Some(done) = draft.ended_task(id).filter(|task| task.digest.is_some()) {
        return complete_again(draft, done, completion);
    }
    if is_past_chunk_of(draft, completion) {
        let refusal = match draft.session(&id.session) {
            Err(ended @ FrameRejection::SessionEnded { .. }) => Some(ended),
            _ => None,
        };
        let late = late(draft, completion, None);
        return refusal.map_or(late, Err);
    }
    match past(draft, id) {
        FrameRejection::NotHolder { .. } => foreign(draft, completion, 0),
        refusal => Err(refusal),
    }
}

fn complete_again(draft: &mut Draft<'_>, done: &FrameTaskRecord, completion: &Completion) -> Answer {
    let by_holder = completion.worker.as_ref().is_none_or(|worker| *worker == done.worker);
    let same_attempt = match completion.attempt {
        Some(attempt) => attempt == done.attempt,
        None => completion.chunk == done.ids.chunk,
    };
    if !by_holder || !same_attempt {
        return late(draft, completion, None);
    }
    if done.digest != Some(completion.digest) && !draft.farm.has_bug(Mutant::SecondBodyTaken) {
        return Err(FrameRejection::CompletionConflict);
    }
    Ok(FrameReply::Accepted(CompletionReply {
        repeated: true,
        worker: done.worker.clone(),
        attempt: done.attempt,
    }))
}

/// A result of an attempt that is over: nothing counts, and its files are set apart once more (S5).
fn late(draft: &mut Draft<'_>, completion: &Completion, holder: Option<Name>) -> Answer {
    // Ids that were used are another's: their files are where they belong.
    let retired = |record: &&ChunkRecord| record.state == ChunkState::Retired;
    let chunk = draft.past_chunk(completion.chunk).filter(retired).map(|record| record.worker.clone());
    let is_left = completion.dry || draft.farm.has_bug(Mutant::LateFilesLeft);
    if !is_left && is_past_chunk_of(draft, completion) {
        let output = draft.farm.sessions.get(&completion.task.session).map(|session| session.output.clone());
        let output = output
            .or_else(|| draft.closed_session(&completion.task.session).map(|session| session.output.clone()));
        if let (Some(worker), Some(output)) = (chunk, output) {
            let files = Files { session: &completion.task.session, output: &output, worker: &worker };
            draft.set_apart(EntryId::Chunk(completion.chunk), &files);
        }
    }
    Err(FrameRejection::NotHolder { holder })
}

/// A completion that names ids which are not its own: people should look (S17).
fn foreign(draft: &mut Draft<'_>, completion: &Completion, expected: u64) -> Answer {
    if !completion.dry
        && let Some(worker) = &completion.worker
    {
        let message = format!(
            "the completion of {} names chunk {}, which is not its own",
            completion.task, completion.chunk
        );
        draft.alert(AlertKind::ChunkIntegrity, worker, &message);
    }
    Err(FrameRejection::ChunkForeign { expected })
}

/// Reason why an attempt that is not live cannot be ended.
fn past(draft: &Draft<'_>, id: &FrameTaskId) -> FrameRejection {
    let session = match draft.session(&id.session) {
        Ok(session) => session,
        Err(refusal) => return refusal,
    };
    let known = session.tasks.contains_key(&id.start) || draft.ended_task(id).is_some();
    if known { FrameRejection::NotHolder { holder: None } } else { FrameRejection::TaskUnknown }
}

/// True if a report can be about the live attempt, as far as it says whose and which.
fn speaks_of(task: &FrameTask, worker: Option<&Name>, attempt: Option<u16>) -> bool {
    worker.is_none_or(|worker| *worker == task.worker)
        && attempt.is_none_or(|attempt| attempt == task.attempt)
}

/// True if the ids named were granted to this very task for an attempt that is over.
fn is_past_chunk_of(draft: &Draft<'_>, completion: &Completion) -> bool {
    draft.past_chunk(completion.chunk).is_some_and(|record| record.task == completion.task)
}
