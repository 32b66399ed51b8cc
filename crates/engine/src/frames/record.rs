//! Rows for the store: those of everything that changed since it was last asked for.

use super::state::{DirtyFrames, Farm, RecentFrames, Session};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    Change, Effect, FarmRecord, FrameChange, FrameTaskId, FrameTaskRecord, Name, RendererRecord, SessionId,
    SessionRecord,
};

impl Farm {
    /// The rows changed since the last call, each once.
    pub(crate) fn take_changes(&mut self) -> Vec<Change> {
        let fresh = DirtyFrames {
            effects: core::mem::take(&mut self.dirty.effects),
            woken: core::mem::take(&mut self.dirty.woken),
            check_wake: self.dirty.check_wake,
            ..DirtyFrames::default()
        };
        let dirty = core::mem::replace(&mut self.dirty, fresh);
        let mut changes = dirty.history;
        for name in &dirty.renderers {
            let record = self.renderer_record(name);
            let said = self.renderers.get_mut(name).and_then(|renderer| renderer.description.take());
            changes.extend(record.map(|record| {
                FrameChange::Renderer(Box::new(RendererRecord { description: said, ..record }))
            }));
        }
        for id in &dirty.sessions {
            let body = self.sessions.get_mut(id).and_then(|session| session.body.take());
            let record = self.sessions.get(id).map(|session| self.session_record(id, session));
            changes.extend(
                record.map(|record| FrameChange::Session(Box::new(SessionRecord { body, ..record }))),
            );
        }
        changes.extend(
            dirty.tasks.iter().filter_map(|id| self.task_record(id).map(Box::new)).map(FrameChange::Task),
        );
        let ended = dirty.ended.iter().filter_map(|id| self.recent.tasks.get(id).cloned());
        changes.extend(ended.map(FrameChange::Task));
        if dirty.farm {
            changes.push(FrameChange::Farm(self.farm_record()));
        }
        changes.into_iter().map(Change::Frames).collect()
    }

    /// Effects that must happen outside once everything up to now is durable.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        core::mem::take(&mut self.dirty.effects)
    }

    /// Lets go of what a commit has made findable in the store; not of what is newer than that.
    pub(crate) fn forget(&mut self, committed: &FrameChange) {
        let RecentFrames { tasks, sessions, chunks } = &mut self.recent;
        match committed {
            FrameChange::Task(task) if tasks.get(&task.id).is_some_and(|kept| kept == task) => {
                tasks.remove(&task.id);
            }
            FrameChange::Session(session) if !session.open => _ = sessions.remove(&session.id),
            FrameChange::Chunk(chunk)
                if chunks.get(&chunk.ids.chunk).is_some_and(|kept| **kept == *chunk) =>
            {
                chunks.remove(&chunk.ids.chunk);
            }
            _ => {}
        }
    }

    /// The rows of everything live, sorted: what a store must hold of it.
    pub(crate) fn live_rows(&self) -> Vec<Change> {
        let renderers = self.renderers.keys().filter_map(|name| self.renderer_record(name));
        let renderers = renderers.map(|record| FrameChange::Renderer(record.into()));
        let sessions = self.sessions.iter().map(|(id, session)| self.session_record(id, session));
        let sessions = sessions.map(|record| FrameChange::Session(record.into()));
        let ids = self.sessions.iter().flat_map(|(id, session)| {
            session.tasks.keys().map(|start| FrameTaskId { session: id.clone(), start: *start })
        });
        let tasks = ids.filter_map(|id| self.task_record(&id)).map(|task| FrameChange::Task(task.into()));
        let failed = self.sessions.values().flat_map(|session| session.failed.values().cloned());
        let failed =
            failed.map(|record| FrameChange::Task(Box::new(FrameTaskRecord { result: None, ..*record })));
        let moving = self.quarantine.values().cloned().map(|record| FrameChange::Quarantine(record.into()));
        let farm = core::iter::once(FrameChange::Farm(self.farm_record()));
        farm.chain(renderers)
            .chain(sessions)
            .chain(tasks)
            .chain(failed)
            .chain(moving)
            .map(Change::Frames)
            .collect()
    }

    pub(crate) fn farm_record(&self) -> FarmRecord {
        FarmRecord { paused: self.paused, next_chunk: self.ids.next_chunk, next_id: self.ids.next_id }
    }

    pub(crate) fn renderer_record(&self, name: &Name) -> Option<RendererRecord> {
        let renderer = self.renderers.get(name)?;
        Some(RendererRecord {
            id: name.clone(),
            state: renderer.state,
            state_since: renderer.state_since,
            token_hash: renderer.token_hash,
            endpoint: renderer.endpoint.clone(),
            slots: renderer.slots,
            failures: renderer.failures.clone(),
            losses: renderer.losses.clone(),
            last_completed: renderer.last_completed,
            removal: renderer.removal,
            removed_from: renderer.removed_from.clone(),
            registered_at: renderer.registered_at,
            last_heartbeat: renderer.last_heartbeat,
            description: None,
        })
    }

    pub(crate) fn session_record(&self, id: &SessionId, session: &Session) -> SessionRecord {
        SessionRecord {
            id: id.clone(),
            seq: session.seq,
            status: session.status,
            total_frames: session.total,
            frames_per_task: session.per_task,
            strict: session.strict,
            output: session.output.clone(),
            digest: session.digest,
            completed_frames: session.done,
            failed_frames: session.failed_frames(),
            open: true,
            created_at: session.created_at,
            ended_at: None,
            error: None,
            body: None,
        }
    }

    pub(crate) fn task_record(&self, id: &FrameTaskId) -> Option<FrameTaskRecord> {
        let task = self.task(id)?;
        Some(FrameTaskRecord {
            id: id.clone(),
            end: task.range.end,
            status: task.status(),
            attempt: task.attempt,
            failures: task.failures,
            losses: task.losses,
            losers: task.losers.clone(),
            worker: task.worker.clone(),
            ids: task.ids,
            created_at: task.created_at,
            granted_at: task.granted_at,
            confirmed_at: task.confirmed_at,
            ended_at: None,
            dropped: task.dropped,
            digest: None,
            error: task.error.clone(),
            result: None,
        })
    }
}
