//! What subscribers read about sessions. Whatever concerns one session names it.

use super::Body;
use muster_model::{FrameEvent, FrameRange, FrameTaskId, Reopening, Timestamp};

/// The kind and the body of an event, if it is told.
pub(super) fn phrase(event: &FrameEvent) -> Option<(&'static str, Body)> {
    about_renderers(event).or_else(|| about_sessions(event)).or_else(|| about_ranges(event))
}

fn about_renderers(event: &FrameEvent) -> Option<(&'static str, Body)> {
    Some(match event {
        FrameEvent::RendererRegistered { registration, at } => {
            ("sim_worker_registered", Body::at(*at).text("worker", &registration.worker))
        }
        FrameEvent::RendererMoved { worker, from, to, cause, at } => {
            let body = Body::at(*at).text("worker", worker).text("from", from.as_str());
            ("sim_worker_moved", body.text("to", to.as_str()).text("cause", cause))
        }
        FrameEvent::Broadcast { paused, at } => {
            (if *paused { "sim_paused" } else { "sim_resumed" }, Body::at(*at))
        }
        FrameEvent::QuarantineMoved { entry, files, at } => {
            ("sim_quarantined", Body::at(*at).text("entry", entry).raw("files", files))
        }
        FrameEvent::QuarantineConfirmed { record, note, at } => {
            ("sim_quarantine_confirmed", Body::at(*at).text("entry", &record.id).text("note", note))
        }
        _ => return None,
    })
}

fn about_sessions(event: &FrameEvent) -> Option<(&'static str, Body)> {
    Some(match event {
        FrameEvent::SessionSubmitted { submission, at } => {
            let body = Body::at(*at).text("session", &submission.session);
            ("session_submitted", body.raw("totalFrames", submission.total_frames))
        }
        FrameEvent::SessionSteered { session, status, at } => {
            ("session_steered", Body::at(*at).text("session", session).text("status", status.as_str()))
        }
        FrameEvent::SessionEnded { session, status, error, at } => {
            let body = Body::at(*at).text("session", session).text("status", status.as_str());
            ("session_ended", error.iter().fold(body, |body, error| body.text("error", error)))
        }
        FrameEvent::SessionReopened { closed, at } => {
            ("session_reopened", Body::at(*at).text("session", &closed.record.id))
        }
        FrameEvent::ChunkRetired { ids, task, reason, at, .. } => {
            let body = Body::at(*at).text("session", &task.session).text("task", task);
            ("chunk_retired", body.raw("chunkId", ids.chunk).text("reason", reason))
        }
        _ => return None,
    })
}

fn about_ranges(event: &FrameEvent) -> Option<(&'static str, Body)> {
    Some(match event {
        FrameEvent::RangeGranted(grant) => {
            let body = range(grant.at, &grant.task, Some(grant.range)).text("worker", &grant.worker);
            let body = body.raw("attempt", grant.attempt).raw("chunkId", grant.ids.chunk);
            ("range_assigned", grant.replaces.iter().fold(body, |body, old| body.raw("retiredChunkId", old)))
        }
        FrameEvent::RangeConfirmed { task, attempt, at } => {
            ("range_confirmed", range(*at, task, None).raw("attempt", attempt))
        }
        FrameEvent::RangeEnded { task, attempt, end, error, at } => {
            let body = range(*at, task, None).raw("attempt", attempt).text("end", end.as_str());
            ("range_ended", error.iter().fold(body, |body, error| body.text("error", error)))
        }
        FrameEvent::RangeCompleted { completion, worker, attempt, at } => {
            let body = range(*at, &completion.task, Some(completion.range)).text("worker", worker);
            let body = body.raw("attempt", attempt).raw("chunkId", completion.chunk);
            ("range_completed", body.raw("droppedFrames", completion.dropped))
        }
        FrameEvent::RangeReopened { record, cause, at } => {
            let body = range(*at, &record.id, None);
            (
                "range_reopened",
                match cause {
                    Reopening::Retired => body,
                    Reopening::Skipped(reason) => body.text("reason", reason),
                },
            )
        }
        FrameEvent::RangeSplit { task, middle, at } => {
            ("range_split", range(*at, task, None).raw("middle", middle))
        }
        FrameEvent::RangeGivenUp { task, error, at } => {
            ("range_given_up", range(*at, task, None).text("error", error))
        }
        FrameEvent::RangeSkipped { record, reason, at } => {
            let frames = FrameRange { start: record.id.start, end: record.end };
            ("range_skipped", range(*at, &record.id, Some(frames)).text("reason", reason))
        }
        FrameEvent::RangeRetried { task, at } => ("range_retried", range(*at, task, None)),
        _ => return None,
    })
}

fn range(at: Timestamp, task: &FrameTaskId, frames: Option<FrameRange>) -> Body {
    let body = Body::at(at).text("session", &task.session).text("task", task);
    frames
        .iter()
        .fold(body, |body, frames| body.raw("frameRange", format_args!("[{},{}]", frames.start, frames.end)))
}
