//! Granted ids, and files set apart (S12, S13, S15).

use super::Range;
use serde::Serialize;
use utoipa::ToSchema;

/// Ids that were granted (S12, S13).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Chunk {
    /// Its number.
    pub chunk_id: u64,
    /// The ids.
    #[schema(schema_with = super::range)]
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

/// Chunks, by number.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChunkList {
    /// This page.
    pub chunks: Vec<Chunk>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
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
    /// Whether all of them are there by now.
    pub moved: bool,
    /// Whether a person has looked at them.
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

/// Entries of the quarantine, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct EntryList {
    /// This page.
    pub entries: Vec<QuarantineEntry>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
