//! Entries of the feed about sessions. Whatever concerns one session names it.

use super::{Body, Entry, of_worker};
use muster_model::{
    Completion, EntryId, FrameEvent, FrameRange, FrameTaskId, FrameTaskRecord, IdRange, Name, RangeGrant,
    Reopening, SessionId, SessionSubmission, Timestamp,
};

/// The entry for an event, if it is published. Every event has an arm of its own.
pub(super) fn phrase(event: &FrameEvent) -> Option<Entry> {
    Some(match event {
        FrameEvent::RendererRegistered { registration, at } => {
            ("sim_worker_registered", of_worker(&registration.worker, *at))
        }
        FrameEvent::RendererMoved { worker, from, to, cause, at } => {
            let body = of_worker(worker, *at).text("from", from.as_str()).text("to", to.as_str());
            ("sim_worker_moved", body.text("cause", cause))
        }
        FrameEvent::Broadcast { paused: true, at } => ("sim_paused", Body::at(*at)),
        FrameEvent::Broadcast { paused: false, at } => ("sim_resumed", Body::at(*at)),
        FrameEvent::QuarantineMoved { entry, files, at } => quarantined(entry, *files, *at),
        FrameEvent::QuarantineConfirmed { record, note, at } => confirmed(&record.id, note, *at),
        FrameEvent::SessionSubmitted { submission, at } => session_submitted(submission, *at),
        FrameEvent::SessionSteered { session, status, at } => {
            ("session_steered", of_session(session, *at).text("status", status.as_str()))
        }
        FrameEvent::SessionEnded { session, status, error, at } => {
            let body = of_session(session, *at).text("status", status.as_str());
            ("session_ended", body.optional("error", error.as_ref()))
        }
        FrameEvent::SessionReopened { closed, at } => {
            ("session_reopened", of_session(&closed.record.id, *at))
        }
        FrameEvent::ChunkRetired { ids, task, reason, at, .. } => chunk_retired(*ids, task, reason, *at),
        FrameEvent::RangeGranted(grant) => range_assigned(grant),
        FrameEvent::RangeConfirmed { task, attempt, at } => {
            ("range_confirmed", of_attempt(task, *attempt, *at))
        }
        FrameEvent::RangeEnded { task, attempt, end, error, at } => {
            let body = of_attempt(task, *attempt, *at).text("end", end.as_str());
            ("range_ended", body.optional("error", error.as_ref()))
        }
        FrameEvent::RangeCompleted { completion, worker, attempt, at } => {
            range_completed(completion, worker, *attempt, *at)
        }
        FrameEvent::RangeReopened { record, cause, at } => range_reopened(&record.id, cause, *at),
        FrameEvent::RangeSplit { task, middle, at } => {
            ("range_split", of_range(task, *at).raw("middle", middle))
        }
        FrameEvent::RangeGivenUp { task, error, at } => {
            ("range_given_up", of_range(task, *at).text("error", error))
        }
        FrameEvent::RangeSkipped { record, reason, at } => range_skipped(record, reason, *at),
        FrameEvent::RangeRetried { task, at } => ("range_retried", of_range(task, *at)),
        // Counts for or against a worker: the changes of state that follow are published.
        FrameEvent::FailureCounted { .. }
        | FrameEvent::FailuresCleared { .. }
        | FrameEvent::RemovalChanged { .. }
        | FrameEvent::RendererForgotten { .. }
        | FrameEvent::RendererBound { .. } => return None,
        // Messages to and from workers; most of them change nothing durable.
        FrameEvent::HeartbeatHeard { .. }
        | FrameEvent::ZombieHeard { .. }
        | FrameEvent::OrdersTold { .. }
        | FrameEvent::RangeShown { .. }
        | FrameEvent::PushFailed { .. }
        | FrameEvent::PushDue { .. }
        | FrameEvent::RangeProgressed { .. }
        | FrameEvent::IdsGranted { .. } => return None,
        // Published once the files are moved.
        FrameEvent::QuarantineWanted { .. } => return None,
    })
}

fn quarantined(entry: &EntryId, files: u64, at: Timestamp) -> Entry {
    ("sim_quarantined", Body::at(at).text("entry", entry).raw("files", files))
}

fn confirmed(entry: &EntryId, note: &str, at: Timestamp) -> Entry {
    ("sim_quarantine_confirmed", Body::at(at).text("entry", entry).text("note", note))
}

fn session_submitted(submission: &SessionSubmission, at: Timestamp) -> Entry {
    let body = of_session(&submission.session, at);
    ("session_submitted", body.raw("totalFrames", submission.total_frames))
}

fn of_session(session: &SessionId, at: Timestamp) -> Body {
    Body::at(at).text("session", session)
}

fn of_range(task: &FrameTaskId, at: Timestamp) -> Body {
    of_session(&task.session, at).text("task", task)
}

fn of_attempt(task: &FrameTaskId, attempt: u16, at: Timestamp) -> Body {
    of_range(task, at).raw("attempt", attempt)
}

fn of_frames(task: &FrameTaskId, frames: FrameRange, at: Timestamp) -> Body {
    of_range(task, at).raw("frameRange", format_args!("[{},{}]", frames.start, frames.end))
}

fn chunk_retired(ids: IdRange, task: &FrameTaskId, reason: &str, at: Timestamp) -> Entry {
    ("chunk_retired", of_range(task, at).raw("chunkId", ids.chunk).text("reason", reason))
}

fn range_assigned(grant: &RangeGrant) -> Entry {
    let body = of_frames(&grant.task, grant.range, grant.at).text("worker", &grant.worker);
    let body = body.raw("attempt", grant.attempt).raw("chunkId", grant.ids.chunk);
    ("range_assigned", grant.replaces.iter().fold(body, |body, old| body.raw("retiredChunkId", old)))
}

fn range_completed(completion: &Completion, worker: &Name, attempt: u16, at: Timestamp) -> Entry {
    let body = of_frames(&completion.task, completion.range, at).text("worker", worker);
    let body = body.raw("attempt", attempt).raw("chunkId", completion.chunk);
    ("range_completed", body.raw("droppedFrames", completion.dropped))
}

fn range_reopened(task: &FrameTaskId, cause: &Reopening, at: Timestamp) -> Entry {
    let reason = match cause {
        Reopening::Retired => None,
        Reopening::Skipped(reason) => Some(reason),
    };
    ("range_reopened", of_range(task, at).optional("reason", reason))
}

fn range_skipped(record: &FrameTaskRecord, reason: &str, at: Timestamp) -> Entry {
    let frames = FrameRange { start: record.id.start, end: record.end };
    ("range_skipped", of_frames(&record.id, frames, at).text("reason", reason))
}
