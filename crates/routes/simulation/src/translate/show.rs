//! Tasks, chunks, replays, entries of the quarantine and diagnostics, as people see them.

use crate::{
    output::Submitted,
    wire::{
        Chunk, CompletedRange, Diagnostic, IdChunk, JsonText, QuarantineEntry, Range, Replay, SessionTask,
    },
};
use muster_model::{
    ChunkRecord, DiagnosticRecord, EntryId, FrameRange, FrameTaskRecord, IdRange, QuarantineKind,
    QuarantineRecord, ReplayRecord,
};

/// A range of frames.
pub(crate) const fn show_range(range: FrameRange) -> Range {
    [range.start, range.end]
}

/// Granted ids.
pub(crate) const fn show_ids(ids: IdRange) -> IdChunk {
    IdChunk { chunk_id: ids.chunk, range: [ids.start, ids.end] }
}

/// A range that was cut.
pub(crate) fn show_task(task: FrameTaskRecord) -> SessionTask {
    SessionTask {
        frame_range: [task.id.start, task.end],
        task_id: task.id.to_string(),
        status: task.status.as_str(),
        attempt: task.attempt,
        worker_id: task.worker.to_string(),
        global_id_chunk: show_ids(task.ids),
        created_at: task.created_at.0,
        granted_at: task.granted_at.0,
        ended_at: task.ended_at.map(|at| at.0),
        dropped_frames: task.dropped,
        error: task.error.map(Into::into),
    }
}

/// A completed range, with what was submitted for it.
pub(crate) fn show_completed(task: FrameTaskRecord) -> CompletedRange {
    let submitted = task.result.as_deref().map(serde_json::from_str::<Submitted>);
    let submitted = submitted.and_then(Result::ok).unwrap_or_default();
    CompletedRange {
        frame_range: [task.id.start, task.end],
        global_id_chunk_id: task.ids.chunk,
        worker_id: task.worker.to_string(),
        pose_files: submitted.pose_files.unwrap_or_default(),
        metrics_snapshot: submitted.metrics_snapshot.map_or_else(JsonText::null, Into::into),
    }
}

/// A chunk with what became of it.
pub(crate) fn show_chunk(chunk: ChunkRecord) -> Chunk {
    let IdChunk { chunk_id, range } = show_ids(chunk.ids);
    Chunk {
        chunk_id,
        range,
        state: chunk.state.as_str(),
        task_id: chunk.task.to_string(),
        session_id: chunk.task.session.to_string(),
        worker_id: chunk.worker.to_string(),
        attempt: chunk.attempt,
        reason: chunk.reason.map(Into::into),
        at: chunk.at.0,
    }
}

/// A range that was given out anew.
pub(crate) const fn show_replay(replay: &ReplayRecord) -> Replay {
    Replay {
        frame_range: show_range(replay.range),
        retired_chunk_id: replay.retired,
        new_chunk_id: replay.new,
    }
}

/// An entry of the quarantine.
pub(crate) fn show_entry(entry: QuarantineRecord) -> QuarantineEntry {
    let (kind, path) = match &entry.id {
        EntryId::Chunk(chunk) => (QuarantineKind::DroppedChunk, format!("quarantine/dropped_chunks/{chunk}")),
        EntryId::Worker(worker, session) => {
            (QuarantineKind::Worker, format!("quarantine/worker/{worker}/{session}"))
        }
    };
    QuarantineEntry {
        id: entry.id.to_string(),
        kind: kind.as_str(),
        path,
        files: entry.files,
        moved: entry.moved,
        confirmed: entry.confirmed.is_some(),
        note: entry.confirmed.map(Into::into),
        session_id: entry.session.to_string(),
        worker_id: entry.worker.to_string(),
        at: entry.at.0,
    }
}

/// A line of the diagnostics log.
pub(crate) fn show_diagnostic(line: DiagnosticRecord) -> Diagnostic {
    Diagnostic {
        kind: line.kind.as_str(),
        worker_id: line.worker.to_string(),
        task_id: line.task.map(|task| task.to_string()),
        text: line.text.into(),
        at: line.at.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{Name, SessionId, Timestamp};
    use serde_json::json;

    /// S15: an entry of the quarantine says what it is, where it is, how much, and whether somebody looked.
    #[test]
    fn an_entry_is_shown() {
        let (worker, session) = (Name::new("w1").unwrap(), SessionId::new("s1").unwrap());
        let mut entry = QuarantineRecord {
            id: EntryId::Chunk(7),
            session: session.clone(),
            output: "session_s1".into(),
            worker: worker.clone(),
            moved: true,
            files: 3,
            confirmed: None,
            at: Timestamp(5),
        };
        let shown = serde_json::to_value(show_entry(entry.clone())).unwrap();
        let expected = json!({"id": "chunk-7", "kind": "dropped_chunk", "path": "quarantine/dropped_chunks/7",
            "files": 3, "moved": true, "confirmed": false, "note": null, "sessionId": "s1", "workerId": "w1", "at": 5});
        assert_eq!(shown, expected);
        (entry.id, entry.confirmed) = (EntryId::Worker(worker, session), Some("looked".into()));
        let shown = show_entry(entry);
        assert_eq!((shown.kind, shown.path.as_str()), ("worker", "quarantine/worker/w1/s1"));
        assert_eq!((shown.confirmed, shown.note.as_deref()), (true, Some("looked")));
    }
}
