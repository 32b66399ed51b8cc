//! Reads about sessions of frames, for people.

use crate::{Cursor, Page, StoreError};
use muster_model::{
    ChunkRecord, ChunkState, DiagnosticRecord, EntryId, FarmRecord, FrameTaskId, FrameTaskRecord, Name,
    QuarantineRecord, RendererRecord, ReplayRecord, SessionId, SessionRecord, SessionStatus,
    TransitionRecord,
};

/// Which chunks.
#[derive(Clone, Debug, Default)]
pub struct ChunkFilter {
    /// Only in this state.
    pub state: Option<ChunkState>,
    /// Only of this session.
    pub session: Option<SessionId>,
}

/// Which lines of the diagnostics log.
#[derive(Clone, Debug, Default)]
pub struct DiagnosticFilter {
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only of this worker.
    pub worker: Option<Name>,
}

/// Reads about sessions. Every list is paged; every call sees one consistent state.
#[allow(clippy::missing_errors_doc, reason = "each fails when the database does, and only then")]
pub trait FrameReader: Send + Sync {
    /// Sessions, newest first, without their bodies.
    fn sessions(
        &self,
        status: Option<SessionStatus>,
        page: &Cursor,
    ) -> Result<Page<SessionRecord>, StoreError>;

    /// One session, its body included.
    fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError>;

    /// The ranges of a session that were cut, by first frame, without their results.
    fn frame_tasks(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError>;

    /// The same ranges, their results included.
    fn frame_results(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError>;

    /// One range, its result included.
    fn frame_task(&self, id: &FrameTaskId) -> Result<Option<FrameTaskRecord>, StoreError>;

    /// The ranges of a session that were given out anew, by the number of their new chunk.
    fn replays(&self, session: &SessionId, page: &Cursor) -> Result<Page<ReplayRecord>, StoreError>;

    /// Granted ids, by number.
    fn chunks(&self, filter: &ChunkFilter, page: &Cursor) -> Result<Page<ChunkRecord>, StoreError>;

    /// One grant of ids.
    fn chunk(&self, chunk: u64) -> Result<Option<ChunkRecord>, StoreError>;

    /// Workers by name, their descriptions included.
    fn renderers(&self, page: &Cursor) -> Result<Page<RendererRecord>, StoreError>;

    /// One worker, its description included.
    fn renderer(&self, id: &Name) -> Result<Option<RendererRecord>, StoreError>;

    /// A worker's changes of state, oldest first, the last `limit` of them.
    fn transitions(&self, id: &Name, limit: u32) -> Result<Vec<TransitionRecord>, StoreError>;

    /// Entries of the quarantine, newest first.
    fn quarantine(&self, page: &Cursor) -> Result<Page<QuarantineRecord>, StoreError>;

    /// One entry of the quarantine.
    fn quarantined(&self, id: &EntryId) -> Result<Option<QuarantineRecord>, StoreError>;

    /// Lines of the diagnostics log, newest first.
    fn diagnostics(
        &self,
        filter: &DiagnosticFilter,
        page: &Cursor,
    ) -> Result<Page<DiagnosticRecord>, StoreError>;

    /// What is known about all sessions together.
    fn farm(&self) -> Result<FarmRecord, StoreError>;
}
