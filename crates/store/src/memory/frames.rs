//! The rows of sessions, and what is done with them.

use crate::{
    ChunkFilter, Cursor, DiagnosticFilter, FrameReader, Loaded, Page, StoreError,
    memory::read::{MemoryReader, following, take},
    position::{List, entry_key, parse_entry_key, parse_number},
};
use muster_model::{
    ChunkRecord, ChunkState, DiagnosticRecord, EntryId, FarmRecord, FrameChange, FrameTaskId,
    FrameTaskRecord, FrameTaskStatus, Name, QuarantineRecord, RendererRecord, ReplayRecord, SessionId,
    SessionRecord, SessionStatus, Timestamp, TransitionRecord,
};
use std::{cmp::Reverse, collections::BTreeMap, ops::RangeInclusive};

/// All rows of sessions of a store in memory.
#[derive(Clone, Default)]
pub(crate) struct FrameTables {
    pub(crate) renderers: BTreeMap<Name, RendererRecord>,
    pub(crate) transitions: Vec<TransitionRecord>,
    pub(crate) sessions: BTreeMap<SessionId, SessionRecord>,
    pub(crate) tasks: BTreeMap<FrameTaskId, FrameTaskRecord>,
    pub(crate) chunks: BTreeMap<u64, ChunkRecord>,
    pub(crate) replays: BTreeMap<(SessionId, u64), ReplayRecord>,
    pub(crate) quarantine: BTreeMap<EntryId, QuarantineRecord>,
    /// Lines by the order they came in.
    pub(crate) diagnostics: BTreeMap<u64, DiagnosticRecord>,
    pub(crate) farm: FarmRecord,
    session_seq: u64,
}

impl FrameTables {
    /// The ranges of a session.
    pub(crate) fn tasks_of(&self, session: &SessionId) -> impl Iterator<Item = &FrameTaskRecord> {
        self.tasks.range(tasks_of(session)).map(|(_, task)| task)
    }

    /// The ranges of a session that were given out anew.
    pub(crate) fn replays_of(&self, session: &SessionId) -> impl Iterator<Item = &ReplayRecord> {
        self.replays.range(replays_of(session)).map(|(_, replay)| replay)
    }

    /// A session that is closed, without its body.
    pub(crate) fn closed_session(&self, id: &SessionId) -> Option<SessionRecord> {
        self.sessions.get(id).filter(|session| !session.open).map(without_body)
    }

    /// A range that ended, without its result.
    pub(crate) fn ended_task(&self, id: &FrameTaskId) -> Option<FrameTaskRecord> {
        self.tasks.get(id).filter(|task| task.status.is_ended()).map(without_result)
    }

    /// Hands over everything that is live.
    pub(crate) fn load(&self, sink: &mut dyn FnMut(Loaded)) {
        let mut frames = |change| sink(Loaded::Frames(change));
        frames(FrameChange::Farm(self.farm));
        for renderer in self.renderers.values() {
            let record = RendererRecord { description: None, ..renderer.clone() };
            frames(FrameChange::Renderer(Box::new(record)));
        }
        self.load_sessions(&mut frames);
        let mut unmoved: Vec<_> = self.quarantine.values().filter(|entry| !entry.moved).collect();
        unmoved.sort_by_cached_key(|entry| (entry.at, entry.id.to_string()));
        unmoved.into_iter().for_each(|entry| frames(FrameChange::Quarantine(Box::new(entry.clone()))));
        sink(Loaded::SessionSeq(self.session_seq));
    }

    fn load_sessions(&self, frames: &mut dyn FnMut(FrameChange)) {
        let mut open: Vec<&SessionRecord> = self.sessions.values().filter(|session| session.open).collect();
        open.sort_by_key(|session| session.seq);
        open.iter().for_each(|session| frames(FrameChange::Session(Box::new(without_body(session)))));
        for task in open.iter().flat_map(|session| self.tasks_of(&session.id)) {
            frames(FrameChange::Task(Box::new(without_result(task))));
        }
        let open =
            |chunk: &ChunkRecord| self.sessions.get(&chunk.task.session).is_some_and(|found| found.open);
        let live = self.chunks.values().filter(|chunk| chunk.state == ChunkState::Live && open(chunk));
        live.cloned().map(FrameChange::Chunk).for_each(frames);
    }

    /// Writes a row.
    pub(crate) fn write(&mut self, change: &FrameChange) {
        match change {
            FrameChange::Renderer(renderer) => self.write_renderer(renderer),
            FrameChange::RendererGone(id) => drop(self.renderers.remove(id)),
            FrameChange::Transition(transition) => self.transitions.push(transition.clone()),
            FrameChange::Session(session) => self.write_session(session),
            FrameChange::Task(task) => self.write_task(task),
            FrameChange::Chunk(chunk) => drop(self.chunks.insert(chunk.ids.chunk, chunk.clone())),
            FrameChange::Replay(replay) => {
                self.replays.insert((replay.session.clone(), replay.new), replay.clone());
            }
            FrameChange::Quarantine(entry) => {
                self.quarantine.insert(entry.id.clone(), (**entry).clone());
            }
            FrameChange::Diagnostic(line) => {
                let place = self.diagnostics.last_key_value().map_or(1, |(place, _)| place + 1);
                self.diagnostics.insert(place, line.clone());
            }
            FrameChange::Farm(farm) => self.farm = *farm,
        }
    }

    fn write_renderer(&mut self, renderer: &RendererRecord) {
        let old = self.renderers.remove(&renderer.id).and_then(|old| old.description);
        let description = renderer.description.clone().or(old);
        self.renderers.insert(renderer.id.clone(), RendererRecord { description, ..renderer.clone() });
    }

    fn write_session(&mut self, session: &SessionRecord) {
        self.session_seq = self.session_seq.max(session.seq);
        let old = self.sessions.remove(&session.id).and_then(|old| old.body);
        let body = session.body.clone().or(old);
        self.sessions.insert(session.id.clone(), SessionRecord { body, ..session.clone() });
    }

    /// A completed range keeps its result when it is written without one, also when it counts as failed since (S23b); any
    /// other loses it.
    fn write_task(&mut self, task: &FrameTaskRecord) {
        let old = self.tasks.remove(&task.id).and_then(|old| old.result);
        let keeps = match task.status {
            FrameTaskStatus::Completed => true,
            FrameTaskStatus::Failed => task.digest.is_some(),
            _ => false,
        };
        let kept = old.filter(|_| keeps);
        let result = task.result.clone().or(kept);
        self.tasks.insert(task.id.clone(), FrameTaskRecord { result, ..task.clone() });
    }

    /// Deletes what is old, a bounded number of sessions at a time; answers whether more remains.
    pub(crate) fn prune(&mut self, cutoff: Timestamp) -> bool {
        self.transitions.retain(|transition| transition.at >= cutoff);
        self.diagnostics.retain(|_, line| line.at >= cutoff);
        self.quarantine.retain(|_, entry| {
            let is_settled = entry.confirmed.is_some() || (entry.moved && entry.files == 0);
            !is_settled || entry.at >= cutoff
        });
        let old = |session: &&SessionRecord| !session.open && session.ended_at.is_some_and(|at| at < cutoff);
        let sessions: Vec<SessionId> =
            self.sessions.values().filter(old).map(|session| session.id.clone()).take(SESSIONS_MAX).collect();
        for session in &sessions {
            self.prune_session(session);
        }
        sessions.len() == SESSIONS_MAX
    }

    /// The farm's row says which ids were granted, so these need not be kept for that.
    fn prune_session(&mut self, session: &SessionId) {
        self.sessions.remove(session);
        self.tasks.extract_if(tasks_of(session), |_, _| true).for_each(drop);
        self.replays.extract_if(replays_of(session), |_, _| true).for_each(drop);
        self.chunks.retain(|_, chunk| chunk.task.session != *session);
    }
}

fn without_body(session: &SessionRecord) -> SessionRecord {
    SessionRecord { body: None, ..session.clone() }
}

fn without_result(task: &FrameTaskRecord) -> FrameTaskRecord {
    FrameTaskRecord { result: None, ..task.clone() }
}

fn tasks_of(session: &SessionId) -> RangeInclusive<FrameTaskId> {
    let id = |start| FrameTaskId { session: session.clone(), start };
    id(0)..=id(u64::MAX)
}

fn replays_of(session: &SessionId) -> RangeInclusive<(SessionId, u64)> {
    (session.clone(), 0)..=(session.clone(), u64::MAX)
}

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

/// Sessions that one call deletes at most.
const SESSIONS_MAX: usize = 100;
