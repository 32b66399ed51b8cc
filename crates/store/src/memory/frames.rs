//! The rows of sessions, and what is done with them.

use crate::Loaded;
use muster_model::{
    ChunkRecord, ChunkState, DiagnosticRecord, EntryId, FarmRecord, FrameChange, FrameTaskId,
    FrameTaskRecord, FrameTaskStatus, Name, QuarantineRecord, RendererRecord, ReplayRecord, SessionId,
    SessionRecord, Timestamp, TransitionRecord,
};
use std::{collections::BTreeMap, ops::RangeInclusive};

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

/// Sessions that one call deletes at most.
const SESSIONS_MAX: usize = 100;
