//! The rows of sessions as the store was told them.

use super::{Verdict, ensure};
use muster_model::{
    ChunkRecord, EntryId, FarmRecord, FrameChange, FrameTaskId, FrameTaskRecord, FrameTaskStatus, Name,
    QuarantineRecord, RendererRecord, RendererState, ReplayRecord, SessionId, SessionRecord,
};
use std::collections::{BTreeMap, BTreeSet};

/// All durable rows that the checks look at.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) renderers: BTreeMap<Name, RendererRecord>,
    pub(super) sessions: BTreeMap<SessionId, SessionRecord>,
    pub(super) tasks: BTreeMap<FrameTaskId, FrameTaskRecord>,
    pub(super) chunks: BTreeMap<u64, Chunk>,
    /// By the new ids.
    pub(super) replays: BTreeMap<u64, ReplayRecord>,
    pub(super) quarantine: BTreeMap<EntryId, QuarantineRecord>,
    pub(super) farm: FarmRecord,
    /// Live ids by task.
    pub(super) live: BTreeMap<FrameTaskId, BTreeSet<u64>>,
}

/// Ids that were granted.
pub(super) struct Chunk {
    pub(super) record: ChunkRecord,
    /// In which life.
    pub(super) life: u32,
    /// The first ids of its attempt; else further ones.
    pub(super) is_first: bool,
    /// State of the worker at that time.
    pub(super) state: RendererState,
}

/// Rows that a batch changed, as they were before it.
#[derive(Default)]
pub(super) struct Before {
    pub(super) renderers: BTreeMap<Name, Option<RendererRecord>>,
    pub(super) sessions: BTreeMap<SessionId, Option<SessionRecord>>,
    pub(super) tasks: BTreeMap<FrameTaskId, Option<FrameTaskRecord>>,
    pub(super) farm: Option<FarmRecord>,
    /// Ids it granted, or changed the state of.
    pub(super) granted: Vec<u64>,
    pub(super) changed: BTreeSet<u64>,
    /// Workers whose state it changed.
    pub(super) moved: BTreeSet<Name>,
    /// Those of them that came into quarantine.
    pub(super) quarantined: BTreeSet<Name>,
    pub(super) replays: Vec<u64>,
    pub(super) entries: BTreeSet<EntryId>,
}

impl Before {
    pub(super) fn is_empty(&self) -> bool {
        let Self { renderers, sessions, tasks, farm, granted, changed, moved, .. } = self;
        let quiet = renderers.is_empty() && sessions.is_empty() && tasks.is_empty() && farm.is_none();
        quiet && granted.is_empty() && changed.is_empty() && moved.is_empty()
    }
}

impl Rows {
    pub(super) fn write(&mut self, change: &FrameChange, before: &mut Before) -> Verdict {
        match change {
            FrameChange::Renderer(row) => {
                let old = self.renderers.insert(row.id.clone(), (**row).clone());
                before.renderers.entry(row.id.clone()).or_insert(old);
            }
            FrameChange::RendererGone(name) => drop(self.renderers.remove(name)),
            FrameChange::Session(row) => {
                let old = self.sessions.insert(row.id.clone(), (**row).clone());
                before.sessions.entry(row.id.clone()).or_insert(old);
            }
            FrameChange::Task(row) => {
                let old = self.tasks.insert(row.id.clone(), (**row).clone());
                before.tasks.entry(row.id.clone()).or_insert(old);
            }
            FrameChange::Replay(replay) => {
                before.replays.push(replay.new);
                let old = self.replays.insert(replay.new, replay.clone());
                ensure(old.is_none(), "replay_recorded_twice", || format!("{old:?} and {replay:?}"))?;
            }
            FrameChange::Quarantine(entry) => {
                before.entries.insert(entry.id.clone());
                self.quarantine.insert(entry.id.clone(), (**entry).clone());
            }
            FrameChange::Farm(farm) => {
                before.farm.get_or_insert(self.farm);
                self.farm = *farm;
            }
            FrameChange::Chunk(_) | FrameChange::Transition(_) | FrameChange::Diagnostic(_) => {}
        }
        Ok(())
    }

    /// Writes down ids that were granted.
    pub(super) fn add_chunk(&mut self, chunk: Chunk) {
        let number = chunk.record.ids.chunk;
        self.live.entry(chunk.record.task.clone()).or_default().insert(number);
        self.chunks.insert(number, chunk);
    }

    /// Writes down that ids are live no more.
    pub(super) fn end_chunk(&mut self, record: &ChunkRecord) {
        let number = record.ids.chunk;
        if let Some(live) = self.live.get_mut(&record.task) {
            live.remove(&number);
        }
        self.live.retain(|_, live| !live.is_empty());
        if let Some(chunk) = self.chunks.get_mut(&number) {
            chunk.record = record.clone();
        }
    }

    /// Live ids, whosever.
    pub(super) fn live_chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.live.values().flatten().filter_map(|number| self.chunks.get(number))
    }

    /// The tasks that a worker holds.
    pub(super) fn held_by(&self, worker: &Name) -> impl Iterator<Item = FrameTaskId> {
        let held = self.live.keys().filter_map(|task| self.tasks.get(task));
        let is_its = |task: &&FrameTaskRecord| task.worker == *worker && is_held(task.status);
        held.filter(is_its).map(|task| task.id.clone())
    }

    /// The ranges of a session.
    pub(super) fn tasks_of(&self, session: &SessionId) -> impl Iterator<Item = &FrameTaskRecord> {
        let id = |start| FrameTaskId { session: session.clone(), start };
        self.tasks.range(id(0)..=id(u64::MAX)).map(|(_, task)| task)
    }
}

pub(super) fn is_held(status: FrameTaskStatus) -> bool {
    matches!(status, FrameTaskStatus::Assigned | FrameTaskStatus::Running)
}
