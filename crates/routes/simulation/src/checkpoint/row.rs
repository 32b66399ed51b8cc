//! What a checkpoint says of each thing. Only texts, whole numbers, truth values and null, and ratios: everybody writes
//! those in the same letters.

use muster_contract_simulation::{count_workers, state_word};
use muster_model::{
    ChunkRecord, FrameTaskId, FrameTaskRecord, IdRange, QuarantineRecord, Ratio, RendererRecord,
    RendererView, ReplayRecord, SessionId, SessionRecord, StatusView, Timestamp,
};
use serde_json::{Value, json};

/// A worker.
pub(super) fn worker(record: &RendererRecord, view: Option<&RendererView>) -> Value {
    let task = view.and_then(|view| view.tasks.first());
    json!({
        "workerId": record.id.as_str(),
        "state": view.map_or(record.state.as_str(), |view| state_word(view.state, view.zombie)),
        "stateSince": record.state_since.0,
        "lastHeartbeat": millis(view.and_then(|view| view.last_heartbeat).or(record.last_heartbeat)),
        "currentTask": task.map(|task| task.id.to_string()),
        "frameRange": task.map(|task| [task.range.start, task.range.end]),
        "queueRatio": view.map(|view| ratio(view.queue_ratio)),
        "lastFrame": view.and_then(|view| view.last_frame),
        "tokenHash": crate::output::hex(&record.token_hash),
        "endpoint": record.endpoint,
        "slots": record.slots,
        "failures": record.failures.iter().map(|at| at.0).collect::<Vec<_>>(),
        "losses": record.losses.iter().map(|at| at.0).collect::<Vec<_>>(),
        "lastCompletedAt": millis(record.last_completed),
        "removal": record.removal.map(|removal| removal.as_str()),
        "removedFrom": record.removed_from.iter().map(|session| session.as_str()).collect::<Vec<_>>(),
        "registeredAt": record.registered_at.0,
        "registration": record.description,
    })
}

/// A session. Its body is a text within the text: what is in it is not ours, and its numbers may be written in any way.
pub(super) fn session(record: &SessionRecord) -> Value {
    json!({
        "sessionId": record.id.as_str(),
        "status": record.status.as_str(),
        "totalFrames": record.total_frames,
        "framesPerTask": record.frames_per_task,
        "qualityMode": if record.strict { "strict" } else { "relaxed" },
        "outputDirectory": record.output,
        "completedFrames": record.completed_frames,
        "failedFrames": record.failed_frames,
        "createdAt": record.created_at.0,
        "endedAt": millis(record.ended_at),
        "error": record.error,
        "digest": format!("{:032x}", record.digest.0),
        "body": record.body,
    })
}

/// A range that was cut, and what was handed in for it: like the body of a session, a text within the text.
pub(super) fn task(record: &FrameTaskRecord, result: Option<&str>) -> Value {
    json!({
        "taskId": record.id.to_string(),
        "sessionId": record.id.session.as_str(),
        "frameRange": [record.id.start, record.end],
        "globalIdChunk": ids(record.ids),
        "status": record.status.as_str(),
        "attempt": record.attempt,
        "failures": record.failures,
        "losses": record.losses,
        "losers": record.losers.iter().map(|worker| worker.as_str()).collect::<Vec<_>>(),
        "workerId": record.worker.as_str(),
        "createdAt": record.created_at.0,
        "grantedAt": record.granted_at.0,
        "confirmedAt": millis(record.confirmed_at),
        "endedAt": millis(record.ended_at),
        "droppedFrames": record.dropped,
        "digest": record.digest.map(|digest| format!("{:032x}", digest.0)),
        "error": record.error,
        "result": result,
    })
}

/// A stretch that was not cut yet.
pub(super) fn uncut(session: &SessionId, start: u64, end: u64) -> Value {
    let id = FrameTaskId { session: session.clone(), start };
    json!({
        "taskId": id.to_string(),
        "sessionId": session.as_str(),
        "frameRange": [start, end],
        "globalIdChunk": null,
        "status": "pending",
        "attempt": 0,
    })
}

/// Granted ids.
pub(super) fn chunk(record: &ChunkRecord) -> Value {
    json!({
        "chunkId": record.ids.chunk,
        "range": [record.ids.start, record.ids.end],
        "taskId": record.task.to_string(),
        "workerId": record.worker.as_str(),
        "attempt": record.attempt,
        "state": record.state.as_str(),
        "reason": record.reason,
        "at": record.at.0,
    })
}

/// A range that was given out anew.
pub(super) fn replay(record: &ReplayRecord) -> Value {
    json!({
        "sessionId": record.session.as_str(),
        "frameRange": [record.range.start, record.range.end],
        "retiredChunkId": record.retired,
        "newChunkId": record.new,
        "at": record.at.0,
    })
}

/// An entry of the quarantine.
pub(super) fn entry(record: &QuarantineRecord) -> Value {
    json!({
        "id": record.id.to_string(),
        "sessionId": record.session.as_str(),
        "outputDirectory": record.output,
        "workerId": record.worker.as_str(),
        "moved": record.moved,
        "files": record.files,
        "confirmed": record.confirmed,
        "at": record.at.0,
    })
}

/// Where the fragment of a completed range is, relative to the output root (S21).
pub(super) fn fragment_path(session: &SessionRecord, task: &FrameTaskRecord) -> String {
    format!("{}/meta/manifest_fragment_{}_{}.json", session.output, task.worker, task.ids.chunk)
}

/// How everything stood.
pub(super) fn metrics(status: &StatusView) -> Value {
    json!({
        "workers": count_workers(status),
        "queueDepthSummary": ratio(status.queue_depth),
        "liveTasks": status.live,
        "returnedTasks": status.returned,
    })
}

fn ids(ids: IdRange) -> Value {
    json!({"chunkId": ids.chunk, "range": [ids.start, ids.end]})
}

/// To four digits: smaller numbers are written in one way by some and in another by others.
fn ratio(ratio: Ratio) -> f64 {
    f64::from((ratio.0 + 50) / 100) / 10_000.0
}

fn millis(at: Option<Timestamp>) -> Option<i64> {
    at.map(|at| at.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S20: ratios are written in letters that Python writes too.
    #[test]
    fn ratios_are_short() {
        for (millionths, text) in [
            (0, "0.0"),
            (50, "0.0001"),
            (49, "0.0"),
            (850_000, "0.85"),
            (999_999, "1.0"),
            (4_000_000_000, "4000.0"),
        ] {
            assert_eq!(json!(ratio(Ratio(millionths))).to_string(), text);
        }
    }
}
