//! Tasks, completed ranges, chunks, replays, entries of the quarantine and diagnostics, as people see them.

use crate::{IdChunk, JsonText, Range, Session, Worker, schema};
use muster_model::{
    ChunkRecord, DiagnosticRecord, EntryId, FrameTaskRecord, QuarantineKind, QuarantineRecord, ReplayRecord,
};
use muster_problem::lists;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// A range that was cut.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionTask {
    /// Its id.
    pub task_id: String,
    /// The frames.
    #[schema(schema_with = schema::range)]
    pub frame_range: Range,
    /// `pending`, `assigned`, `running`, `completed`, `lost`, `failed` or `cancelled`.
    pub status: &'static str,
    /// Attempts made, the live one included.
    pub attempt: u16,
    /// Who has or last had it.
    pub worker_id: String,
    /// The ids of its last attempt.
    pub global_id_chunk: IdChunk,
    /// When it was cut and first given out, epoch milliseconds.
    pub created_at: i64,
    /// When it was last given out.
    pub granted_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// Frames its last attempt dropped.
    pub dropped_frames: u64,
    /// How its last attempt failed.
    pub error: Option<String>,
}

/// A line of the diagnostics log (S4, S20b).
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// What it tells of: `message` (a worker's own), `worker`, `ended`, `reassigned`, `split`, `given_up`, `retired`,
    /// `quarantined`, `skipped` or `retried`.
    pub kind: &'static str,
    /// The worker that said it, or that it is about.
    pub worker_id: String,
    /// The task it is about.
    pub task_id: Option<String>,
    /// The text for people.
    pub text: String,
    /// When, epoch milliseconds.
    pub at: i64,
}

/// A completed range, with what its worker submitted beside the fragment (S21).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompletedRange {
    /// The frames.
    #[schema(schema_with = schema::range)]
    pub frame_range: Range,
    /// The chunk of its ids.
    pub global_id_chunk_id: u64,
    /// The worker that rendered it.
    pub worker_id: String,
    /// The pose files, relative to the task's directory.
    pub pose_files: Vec<String>,
    /// As it was submitted; null if nothing was.
    pub metrics_snapshot: JsonText,
}

/// A range that was given out anew (S16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// The frames.
    #[schema(schema_with = schema::range)]
    pub frame_range: Range,
    /// The ids that are no longer used.
    pub retired_chunk_id: u64,
    /// The ids in their place.
    pub new_chunk_id: u64,
}

/// Ids that were granted (S12, S13).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    /// Its number.
    pub chunk_id: u64,
    /// The ids.
    #[schema(schema_with = schema::range)]
    pub range: Range,
    /// `live`, `used` (its fragment was accepted) or `retired` (never used again).
    pub state: &'static str,
    /// For which task.
    pub task_id: String,
    /// Of which session.
    pub session_id: String,
    /// To whom.
    pub worker_id: String,
    /// For which attempt.
    pub attempt: u16,
    /// Why it was retired.
    pub reason: Option<String>,
    /// Since when it is so, epoch milliseconds.
    pub at: i64,
}

/// Files that were set apart until a person has looked at them (S15).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuarantineEntry {
    /// What it is called.
    #[schema(example = "chunk-7")]
    pub id: String,
    /// `dropped_chunk` or `worker`.
    pub kind: &'static str,
    /// Where the files are, relative to the output root.
    #[schema(example = "quarantine/dropped_chunks/7")]
    pub path: String,
    /// How many.
    pub files: u64,
    /// True if all of them are there by now.
    pub moved: bool,
    /// True if a person has looked at them.
    pub confirmed: bool,
    /// What that person said.
    pub note: Option<String>,
    /// Of which session.
    pub session_id: String,
    /// Whose.
    pub worker_id: String,
    /// Since when, epoch milliseconds.
    pub at: i64,
}

lists! {
    (Debug, Serialize, ToSchema)
    /// Ranges that were cut, by first frame.
    TaskList { tasks: SessionTask }
    /// Lines of the diagnostics log, newest first.
    DiagnosticList { diagnostics: Diagnostic }
    /// Chunks, by number.
    ChunkList { chunks: Chunk }
    /// Entries of the quarantine, newest first.
    EntryList { entries: QuarantineEntry }
    /// Sessions, newest first.
    SessionList { sessions: Session }
    /// Workers, by name.
    WorkerList { workers: Worker }
}

/// The state of a chunk, as a parameter (S13).
#[derive(Clone, Copy, Debug)]
pub struct ChunkStateWord;

/// The parts of a kept completion that the manifest shows.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubmittedResult {
    /// Files of poses.
    #[serde(default)]
    pub pose_files: Option<Vec<String>>,
    /// Figures of the worker's own.
    #[serde(default)]
    pub metrics_snapshot: Option<Box<RawValue>>,
}

impl ChunkStateWord {
    /// All words.
    pub const ALL: [&str; 3] = ["live", "used", "retired"];
}

impl From<FrameTaskRecord> for SessionTask {
    fn from(task: FrameTaskRecord) -> Self {
        Self {
            frame_range: [task.id.start, task.end],
            task_id: task.id.to_string(),
            status: task.status.as_str(),
            attempt: task.attempt,
            worker_id: task.worker.to_string(),
            global_id_chunk: task.ids.into(),
            created_at: task.created_at.0,
            granted_at: task.granted_at.0,
            ended_at: task.ended_at.map(|at| at.0),
            dropped_frames: task.dropped,
            error: task.error.map(Into::into),
        }
    }
}

impl From<FrameTaskRecord> for CompletedRange {
    fn from(task: FrameTaskRecord) -> Self {
        let submitted = task.result.as_deref().map(serde_json::from_str::<SubmittedResult>);
        let submitted = submitted.and_then(Result::ok).unwrap_or_default();
        Self {
            frame_range: [task.id.start, task.end],
            global_id_chunk_id: task.ids.chunk,
            worker_id: task.worker.to_string(),
            pose_files: submitted.pose_files.unwrap_or_default(),
            metrics_snapshot: submitted.metrics_snapshot.map_or_else(JsonText::null, Into::into),
        }
    }
}

impl From<ChunkRecord> for Chunk {
    fn from(chunk: ChunkRecord) -> Self {
        let IdChunk { chunk_id, range } = chunk.ids.into();
        Self {
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
}

impl From<&ReplayRecord> for Replay {
    fn from(replay: &ReplayRecord) -> Self {
        Self {
            frame_range: [replay.range.start, replay.range.end],
            retired_chunk_id: replay.retired,
            new_chunk_id: replay.new,
        }
    }
}

impl QuarantineEntry {
    /// The entry as it was confirmed. Files that arrive late reopen an entry at once, so the store may already say otherwise.
    pub fn confirmed(entry: QuarantineRecord, note: Box<str>) -> Self {
        QuarantineRecord { confirmed: Some(note), ..entry }.into()
    }
}

impl From<QuarantineRecord> for QuarantineEntry {
    fn from(entry: QuarantineRecord) -> Self {
        let (kind, path) = match &entry.id {
            EntryId::Chunk(chunk) => {
                (QuarantineKind::DroppedChunk, format!("quarantine/dropped_chunks/{chunk}"))
            }
            EntryId::Worker(worker, session) => {
                (QuarantineKind::Worker, format!("quarantine/worker/{worker}/{session}"))
            }
        };
        Self {
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
}

impl From<DiagnosticRecord> for Diagnostic {
    fn from(line: DiagnosticRecord) -> Self {
        Self {
            kind: line.kind.as_str(),
            worker_id: line.worker.to_string(),
            task_id: line.task.map(|task| task.to_string()),
            text: line.text.into(),
            at: line.at.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{ChunkState, Name, SessionId, Timestamp};
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
        let shown = serde_json::to_value(QuarantineEntry::from(entry.clone())).unwrap();
        let expected = json!({"id": "chunk-7", "kind": "dropped_chunk", "path": "quarantine/dropped_chunks/7",
            "files": 3, "moved": true, "confirmed": false, "note": null, "sessionId": "s1", "workerId": "w1", "at": 5});
        assert_eq!(shown, expected);
        (entry.id, entry.confirmed) = (EntryId::Worker(worker, session), Some("looked".into()));
        let shown = QuarantineEntry::from(entry);
        assert_eq!((shown.kind, shown.path.as_str()), ("worker", "quarantine/worker/w1/s1"));
        assert_eq!((shown.confirmed, shown.note.as_deref()), (true, Some("looked")));
    }

    #[test]
    fn every_chunk_state_has_a_word() {
        assert_eq!(ChunkStateWord::ALL.map(ChunkState::from_word), ChunkState::ALL.map(Some));
    }
}
