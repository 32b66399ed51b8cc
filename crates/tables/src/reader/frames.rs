//! Reads about sessions.

mod sessions;
mod workers;

use super::TableReader;
use crate::{
    rows::{chunk, farm, frame_task},
    sql::Connections,
};
use muster_model::{
    ChunkRecord, DiagnosticRecord, EntryId, FarmRecord, FrameTaskId, FrameTaskRecord, Name, QuarantineRecord,
    RendererRecord, ReplayRecord, SessionId, SessionRecord, SessionStatus, TransitionRecord,
};
use muster_store::{ChunkFilter, Cursor, DiagnosticFilter, FrameReader, Page, StoreError};

impl<P: Connections> FrameReader for TableReader<P> {
    fn sessions(
        &self,
        status: Option<SessionStatus>,
        page: &Cursor,
    ) -> Result<Page<SessionRecord>, StoreError> {
        self.read(|connection| sessions::sessions(connection, status, page))
    }

    fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        self.read(|connection| sessions::session(connection, id))
    }

    fn frame_tasks(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError> {
        self.read(|connection| sessions::tasks(connection, session, page, frame_task::COLUMNS_WITHOUT_RESULT))
    }

    fn frame_results(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError> {
        self.read(|connection| sessions::tasks(connection, session, page, frame_task::COLUMNS))
    }

    fn frame_task(&self, id: &FrameTaskId) -> Result<Option<FrameTaskRecord>, StoreError> {
        self.read(|connection| frame_task::find(connection, id))
    }

    fn replays(&self, session: &SessionId, page: &Cursor) -> Result<Page<ReplayRecord>, StoreError> {
        self.read(|connection| sessions::replays(connection, session, page))
    }

    fn chunks(&self, filter: &ChunkFilter, page: &Cursor) -> Result<Page<ChunkRecord>, StoreError> {
        self.read(|connection| sessions::chunks(connection, filter, page))
    }

    fn chunk(&self, chunk: u64) -> Result<Option<ChunkRecord>, StoreError> {
        self.read(|connection| chunk::find(connection, chunk))
    }

    fn renderers(&self, page: &Cursor) -> Result<Page<RendererRecord>, StoreError> {
        self.read(|connection| workers::renderers(connection, page))
    }

    fn renderer(&self, id: &Name) -> Result<Option<RendererRecord>, StoreError> {
        self.read(|connection| workers::renderer(connection, id))
    }

    fn transitions(&self, id: &Name, limit: u32) -> Result<Vec<TransitionRecord>, StoreError> {
        self.read(|connection| workers::transitions(connection, id, limit))
    }

    fn quarantine(&self, page: &Cursor) -> Result<Page<QuarantineRecord>, StoreError> {
        self.read(|connection| workers::quarantine(connection, page))
    }

    fn quarantined(&self, id: &EntryId) -> Result<Option<QuarantineRecord>, StoreError> {
        self.read(|connection| workers::quarantined(connection, id))
    }

    fn diagnostics(
        &self,
        filter: &DiagnosticFilter,
        page: &Cursor,
    ) -> Result<Page<DiagnosticRecord>, StoreError> {
        self.read(|connection| workers::diagnostics(connection, filter, page))
    }

    fn farm(&self) -> Result<FarmRecord, StoreError> {
        self.read(|connection| farm::read(connection))
    }
}
