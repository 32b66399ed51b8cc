//! Reads about sessions.

use super::{MemoryReader, following, take};
use crate::{
    ChunkFilter, Cursor, DiagnosticFilter, FrameReader, Page, StoreError,
    position::{List, entry_key, parse_entry_key, parse_number},
};
use muster_model::{
    ChunkRecord, DiagnosticRecord, EntryId, FarmRecord, FrameTaskId, FrameTaskRecord, Name, QuarantineRecord,
    RendererRecord, ReplayRecord, SessionId, SessionRecord, SessionStatus, TransitionRecord,
};
use std::cmp::Reverse;

impl FrameReader for MemoryReader {
    fn sessions(
        &self,
        status: Option<SessionStatus>,
        page: &Cursor,
    ) -> Result<Page<SessionRecord>, StoreError> {
        let tables = self.tables();
        let wanted = |session: &&SessionRecord| status.is_none_or(|status| status == session.status);
        let mut sessions: Vec<_> = tables.frames.sessions.values().filter(wanted).collect();
        sessions.sort_by_key(|session| Reverse(session.seq));
        let start = List::Sessions.start(page, parse_number);
        let found = following(start, sessions.into_iter(), |session, after| session.seq < *after);
        let mut items = take(found, page);
        items.iter_mut().for_each(|session| session.body = None);
        Ok(List::Sessions.page(page, items, |session| session.seq.to_string()))
    }

    fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        Ok(self.tables().frames.sessions.get(id).cloned())
    }

    fn frame_tasks(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError> {
        let mut found = self.frame_results(session, page)?;
        found.items.iter_mut().for_each(|task| task.result = None);
        Ok(found)
    }

    fn frame_results(&self, session: &SessionId, page: &Cursor) -> Result<Page<FrameTaskRecord>, StoreError> {
        let tables = self.tables();
        let start = List::FrameTasks.start(page, parse_number);
        let found = following(start, tables.frames.tasks_of(session), |task, after| task.id.start > *after);
        let items = take(found, page);
        Ok(List::FrameTasks.page(page, items, |task| task.id.start.to_string()))
    }

    fn frame_task(&self, id: &FrameTaskId) -> Result<Option<FrameTaskRecord>, StoreError> {
        Ok(self.tables().frames.tasks.get(id).cloned())
    }

    fn replays(&self, session: &SessionId, page: &Cursor) -> Result<Page<ReplayRecord>, StoreError> {
        let tables = self.tables();
        let start = List::Replays.start(page, parse_number);
        let found = following(start, tables.frames.replays_of(session), |replay, after| replay.new > *after);
        Ok(List::Replays.page(page, take(found, page), |replay| replay.new.to_string()))
    }

    fn chunks(&self, filter: &ChunkFilter, page: &Cursor) -> Result<Page<ChunkRecord>, StoreError> {
        let tables = self.tables();
        let wanted = |chunk: &&ChunkRecord| {
            filter.state.is_none_or(|state| state == chunk.state)
                && filter.session.as_ref().is_none_or(|session| *session == chunk.task.session)
        };
        let start = List::Chunks.start(page, parse_number);
        let chunks = tables.frames.chunks.values().filter(wanted);
        let found = following(start, chunks, |chunk, after| chunk.ids.chunk > *after);
        Ok(List::Chunks.page(page, take(found, page), |chunk| chunk.ids.chunk.to_string()))
    }

    fn chunk(&self, chunk: u64) -> Result<Option<ChunkRecord>, StoreError> {
        Ok(self.tables().frames.chunks.get(&chunk).cloned())
    }

    fn renderers(&self, page: &Cursor) -> Result<Page<RendererRecord>, StoreError> {
        let tables = self.tables();
        let start = List::Renderers.start(page, |text| Name::new(text).ok());
        let found =
            following(start, tables.frames.renderers.values(), |renderer, after| renderer.id > *after);
        Ok(List::Renderers.page(page, take(found, page), |renderer| renderer.id.to_string()))
    }

    fn renderer(&self, id: &Name) -> Result<Option<RendererRecord>, StoreError> {
        Ok(self.tables().frames.renderers.get(id).cloned())
    }

    fn transitions(&self, id: &Name, limit: u32) -> Result<Vec<TransitionRecord>, StoreError> {
        let tables = self.tables();
        let newest = tables.frames.transitions.iter().rev().filter(|transition| transition.worker == *id);
        let mut last: Vec<_> = newest.take(limit as usize).cloned().collect();
        last.reverse();
        Ok(last)
    }

    fn quarantine(&self, page: &Cursor) -> Result<Page<QuarantineRecord>, StoreError> {
        let tables = self.tables();
        let key = |entry: &QuarantineRecord| (entry.at.0, entry.id.to_string());
        let mut entries: Vec<_> = tables.frames.quarantine.values().collect();
        entries.sort_by_cached_key(|entry| Reverse(key(entry)));
        let start = List::Quarantine.start(page, parse_entry_key);
        let found = following(start, entries.into_iter(), |entry, after| key(entry) < *after);
        Ok(List::Quarantine.page(page, take(found, page), |entry| entry_key(entry.at.0, &entry.id)))
    }

    fn quarantined(&self, id: &EntryId) -> Result<Option<QuarantineRecord>, StoreError> {
        Ok(self.tables().frames.quarantine.get(id).cloned())
    }

    fn diagnostics(
        &self,
        filter: &DiagnosticFilter,
        page: &Cursor,
    ) -> Result<Page<DiagnosticRecord>, StoreError> {
        let tables = self.tables();
        let wanted = |line: &DiagnosticRecord| {
            filter.session.as_ref().is_none_or(|session| *session == line.session)
                && filter.worker.as_ref().is_none_or(|worker| *worker == line.worker)
        };
        let lines: Vec<(u64, DiagnosticRecord)> = tables
            .frames
            .diagnostics
            .iter()
            .rev()
            .filter(|(_, line)| wanted(line))
            .map(|(place, line)| (*place, line.clone()))
            .collect();
        let start = List::Diagnostics.start(page, parse_number);
        let found = following(start, lines.iter(), |(place, _), after| place < after);
        let numbered = List::Diagnostics.page(page, take(found, page), |(place, _)| place.to_string());
        let items = numbered.items.into_iter().map(|(_, line)| line).collect();
        Ok(Page { items, next: numbered.next })
    }

    fn farm(&self) -> Result<FarmRecord, StoreError> {
        Ok(self.tables().frames.farm)
    }
}
