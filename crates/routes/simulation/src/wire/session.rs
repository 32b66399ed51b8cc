//! Sessions as people and scripts see them (S26).

use super::{IdChunk, JsonText, Range};
use serde::Serialize;
use utoipa::ToSchema;

/// A session and where it stands.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The client's name for it.
    pub session_id: String,
    /// `running`, `paused`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// How many frames.
    pub total_frames: u64,
    /// Frames done.
    pub completed_frames: u64,
    /// Whether it is completed and no frame is missing.
    pub complete: bool,
    /// Frames that are missing: given up after they failed, or left out of the manifest.
    pub skipped_frames: u64,
    /// Frames per task at most.
    pub frames_per_task: u64,
    /// `strict` or `relaxed`.
    pub quality_mode: &'static str,
    /// Its directory, relative to the output root.
    pub output_directory: String,
    /// When it was submitted, epoch milliseconds.
    pub created_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// Why it failed, or which frames are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub error: Option<String>,
}

/// Sessions, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionList {
    /// This page.
    pub sessions: Vec<Session>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One session with everything about it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDetail {
    /// The session itself.
    #[serde(flatten)]
    pub session: Session,
    /// All frames are done or given up, and the manifest is being written.
    pub merging: bool,
    /// The frames that are missing, `[start, end]` each: `POST /api/v1/sessions/{id}/retry` renders them again.
    #[schema(schema_with = super::ranges)]
    pub failed_frames: Vec<Range>,
    /// The completed ranges with what was submitted for them, by first frame; at most 1000.
    pub ranges: Vec<CompletedRange>,
    /// Whether `ranges` has all of them.
    pub ranges_complete: bool,
    /// Which frames stand where, in order and without a gap.
    pub coverage: Vec<Coverage>,
    /// Whether `coverage` goes to the last frame; a session of very many tasks is shown up to some frame.
    pub coverage_complete: bool,
    /// Ranges that were given out anew.
    pub replays: Vec<Replay>,
    /// Frames that were dropped, by range.
    pub drops: Vec<Dropped>,
    /// Frames a second that the workers at it make together.
    pub rate: f64,
    /// How long it will take at that rate; null where that cannot be known.
    pub eta_seconds: Option<u64>,
    /// As it was submitted.
    pub scenario: JsonText,
    /// As it was submitted.
    pub cameras: JsonText,
}

/// A completed range, with what its worker submitted beside the fragment (S21).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompletedRange {
    /// The frames.
    #[schema(schema_with = super::range)]
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

/// A stretch of frames and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The frames.
    #[schema(schema_with = super::range)]
    pub frame_range: Range,
    /// `pending`, `assigned`, `running`, `completed`, `lost`, `failed` or `cancelled`.
    pub status: &'static str,
    /// Who has or had it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub worker_id: Option<String>,
    /// With which ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub global_id_chunk_id: Option<u64>,
    /// Its task.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub task_id: Option<String>,
    /// The nth try.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub attempt: Option<u16>,
    /// Frames made so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub processed_frames: Option<u64>,
}

/// A range that was given out anew (S16).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// The frames.
    #[schema(schema_with = super::range)]
    pub frame_range: Range,
    /// The ids that are no longer used.
    pub retired_chunk_id: u64,
    /// The ids in their place.
    pub new_chunk_id: u64,
}

/// Frames that a worker dropped (S26).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    /// The range they are missing from.
    #[schema(schema_with = super::range)]
    pub frame_range: Range,
    /// Who dropped them.
    pub worker_id: String,
    /// How many.
    pub dropped_frames: u64,
}

/// A range that was cut.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionTask {
    /// Its id.
    pub task_id: String,
    /// The frames.
    #[schema(schema_with = super::range)]
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

/// Ranges that were cut, by first frame.
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskList {
    /// This page.
    pub tasks: Vec<SessionTask>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
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

/// Lines of the diagnostics log, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct DiagnosticList {
    /// This page.
    pub diagnostics: Vec<Diagnostic>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// How far a session is at a moment; an event `tick` of its stream.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tick {
    /// Which session.
    pub session_id: String,
    /// `running`, `paused`, `completed`, `failed` or `cancelled`.
    pub status: &'static str,
    /// How many frames.
    pub total_frames: u64,
    /// Frames done.
    pub completed_frames: u64,
    /// Tasks that workers hold.
    pub live_tasks: usize,
    /// Frames a second that the workers at it make together.
    pub rate: f64,
    /// How long it will take at that rate; null where that cannot be known.
    pub eta_seconds: Option<u64>,
    /// The moment, epoch milliseconds.
    pub at: i64,
}
