//! One file per command or small group of them: says what it would make true. Changes nothing.

mod acknowledge;
mod ask;
mod complete;
mod draft;
mod progress;
mod renderer;
mod session;
mod tick;

pub(crate) use ask::{Delivery, Recipient, find_work, grant, handout_of, may_be_given};
pub(crate) use draft::Draft;
pub(crate) use tick::decide_due;

use super::Farm;
use crate::kernel::{Context, Decided, Decision, Refused};
use alloc::{vec, vec::Vec};
use muster_model::{CompletionReply, FrameCommand, FrameRejection, FrameReply, Key, Name, SkippedRange};

/// The answer to a command; the draft has its events. A rejection may have some, too: a completion that came too late.
type Answer = Result<FrameReply, FrameRejection>;

/// Decides a command.
pub(crate) fn decide(
    farm: &Farm,
    command: FrameCommand,
    context: &Context<'_>,
) -> Decided<FrameReply, FrameRejection> {
    let mut draft = Draft::new(farm, context);
    match decide_as_caller(&mut draft, command) {
        Ok(reply) => Ok(Decision { events: draft.events, reply }),
        Err(rejection) => Err(Refused { events: draft.events, rejection }),
    }
}

/// Decides a command. A removed worker gets no answer but that, and that its accepted completions stay accepted (S5, S6).
fn decide_as_caller(draft: &mut Draft<'_>, command: FrameCommand) -> Answer {
    let zombie = caller(&command).filter(|worker| draft.is_removed(worker)).cloned();
    let decided = decide_for(draft, command);
    let Some(worker) = zombie else {
        return decided;
    };
    draft.hear_zombie(&worker);
    let accepted = matches!(decided, Ok(FrameReply::Accepted(CompletionReply { repeated: true, .. })));
    if accepted { decided } else { Err(FrameRejection::Removed) }
}

fn decide_for(draft: &mut Draft<'_>, command: FrameCommand) -> Answer {
    match command {
        FrameCommand::Register(registration) => renderer::register(draft, registration),
        FrameCommand::Heartbeat(heartbeat) => renderer::heartbeat(draft, heartbeat),
        FrameCommand::Rebind { worker, held } => renderer::rebind(draft, &worker, held),
        FrameCommand::Ask { worker, supply } => ask::ask(draft, &worker, supply),
        FrameCommand::Progress(progress) => progress::progress(draft, progress),
        FrameCommand::MoreIds { worker, task, count } => progress::more_ids(draft, &worker, task, count),
        FrameCommand::Complete(completion) => complete::complete(draft, completion),
        FrameCommand::Fail { task, worker, attempt, error } => {
            complete::fail(draft, complete::Failure { task, worker, attempt, error })
        }
        FrameCommand::Remove { worker, itself } => renderer::remove(draft, &worker, itself),
        FrameCommand::Assign { task, worker } => ask::assign(draft, &task, &worker),
        FrameCommand::Broadcast { pause } => renderer::broadcast(draft, pause),
        FrameCommand::Quarantine { worker, reason } => renderer::quarantine(draft, &worker, &reason),
        FrameCommand::Approve { worker, reason } => renderer::approve(draft, &worker, &reason),
        FrameCommand::RetireChunk { chunk, task, reason } => progress::retire(draft, chunk, task, reason),
        FrameCommand::Submit(submission) => session::submit(draft, submission),
        FrameCommand::Steer { session, to } => session::steer(draft, &session, to),
        FrameCommand::Pushed { task, attempt, acked } => acknowledge::pushed(draft, &task, attempt, acked),
        FrameCommand::Moved { entry, files } => acknowledge::moved(draft, entry, files),
        FrameCommand::Confirm { record, note } => acknowledge::confirm(draft, record, note),
        FrameCommand::Merged { session, mark, skipped } => {
            acknowledge::merged(draft, &session, mark, &skipped)
        }
        FrameCommand::Retry(request) => session::retry(draft, *request),
        FrameCommand::Dismissed { worker } => renderer::dismissed(draft, &worker),
    }
}

/// The worker that a command comes from and that must be on the list for it. A heartbeat is answered in any case.
fn caller(command: &FrameCommand) -> Option<&Name> {
    match command {
        FrameCommand::Ask { worker, .. }
        | FrameCommand::MoreIds { worker, .. }
        | FrameCommand::Rebind { worker, .. } => Some(worker),
        FrameCommand::Progress(progress) => Some(&progress.worker),
        FrameCommand::Complete(completion) => completion.worker.as_ref(),
        FrameCommand::Fail { worker, .. } => worker.as_ref(),
        _ => None,
    }
}

/// Facts that a command needs and that memory may have forgotten.
pub(crate) fn keys(farm: &Farm, command: &FrameCommand) -> Vec<Key> {
    let mut keys = match command {
        FrameCommand::Complete(completion) => {
            let task = completion.task.clone();
            vec![Key::Session(task.session.clone()), Key::FrameTask(task), Key::Chunk(completion.chunk)]
        }
        FrameCommand::Fail { task, .. } | FrameCommand::Assign { task, .. } => {
            vec![Key::Session(task.session.clone()), Key::FrameTask(task.clone())]
        }
        FrameCommand::RetireChunk { chunk, task, .. } => {
            let of_task = task
                .iter()
                .flat_map(|task| [Key::Session(task.session.clone()), Key::FrameTask(task.clone())]);
            of_task.chain([Key::Chunk(*chunk)]).collect()
        }
        FrameCommand::Submit(submission) => vec![Key::Session(submission.session.clone())],
        FrameCommand::Steer { session, .. } => vec![Key::Session(session.clone())],
        FrameCommand::Retry(request) => vec![Key::Session(request.session.clone())],
        FrameCommand::Merged { skipped, .. } => {
            let keys = |range: &SkippedRange| [Key::FrameTask(range.task.clone()), Key::Chunk(range.chunk)];
            skipped.iter().flat_map(keys).collect()
        }
        _ => Vec::new(),
    };
    keys.retain(|key| match key {
        Key::Session(id) => !farm.sessions.contains_key(id) && !farm.recent.sessions.contains_key(id),
        Key::FrameTask(id) => farm.task(id).is_none() && !farm.recent.tasks.contains_key(id),
        Key::Chunk(chunk) => !farm.chunks.contains_key(chunk) && !farm.recent.chunks.contains_key(chunk),
        _ => true,
    });
    keys
}
