//! Builds the farm back from what a store kept.

use super::{
    apply::TOLD_TIMES,
    state::{Assignment, Crew, Farm, FarmTimer, FrameTask, Renderer, Session},
};
use crate::Mutant;
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    ChunkRecord, Effect, FrameChange, FrameRange, FrameTaskId, FrameTaskRecord, FrameTaskStatus, Removal,
    RendererRecord, RendererState, SessionRecord, Timestamp,
};

impl Farm {
    /// Takes one loaded record, in the order that `Writer::load` promises.
    pub(crate) fn take_loaded(&mut self, record: FrameChange) {
        match record {
            FrameChange::Farm(farm) => {
                self.paused = farm.paused;
                (self.ids.next_chunk, self.ids.next_id) = (farm.next_chunk, farm.next_id);
            }
            FrameChange::Renderer(record) => self.restore_renderer(*record),
            FrameChange::Session(record) => self.restore_session(*record),
            FrameChange::Task(record) => self.restore_task(&record),
            FrameChange::Chunk(record) => self.restore_chunk(&record),
            FrameChange::Quarantine(record) => _ = self.quarantine.insert(record.id.clone(), *record),
            FrameChange::RendererGone(_)
            | FrameChange::Transition(_)
            | FrameChange::Replay(_)
            | FrameChange::Diagnostic(_) => {}
        }
    }

    /// Puts up what is not kept: timers, what must happen outside, who must come back (S19).
    pub(crate) fn finish_loading(&mut self, now: Timestamp) {
        (self.began_at, self.latest) = (now, now);
        for delay in [muster_model::Millis(0), self.settings.rebind_within] {
            self.timers.set(now + delay, FarmTimer::NewTerm);
        }
        let mut crew = Crew::default();
        for (name, renderer) in &mut self.renderers {
            // The word of an earlier term may have been lost with it.
            renderer.heard_at = now;
            renderer.resume_owed = if self.paused { 0 } else { TOLD_TIMES };
            crew.put_up(renderer, name);
        }
        self.crew = crew;
        self.watch_assignments(now);
        let names: Vec<_> = self.renderers.keys().cloned().collect();
        names.iter().for_each(|name| self.arm(name));
        let moving = self.quarantine.values().filter(|_| !self.has_bug(Mutant::MoveForgotten)).cloned();
        self.dirty.effects = moving.map(|record| Effect::Quarantine(record.into())).collect();
        let unanswered = self.renderers.iter().filter(|(_, r)| r.removal == Some(Removal::Waiting));
        let dismissals: Vec<Effect> =
            unanswered.filter_map(|(name, renderer)| renderer.dismissal(name)).collect();
        self.dirty.effects.extend(dismissals);
        for id in self.sessions.keys() {
            self.dirty.effects.push(Effect::WriteSession { session: id.clone() });
            self.dirty.check_sessions.insert(id.clone());
        }
        if self.has_bug(Mutant::MergeForgotten) {
            self.dirty.check_sessions.clear();
        }
        let ids: Vec<_> = self.sessions.keys().cloned().collect();
        ids.iter().for_each(|id| self.reindex(id));
        self.dirty.check_supply = true;
    }

    /// Stalls of what is held count from the beginning of the term.
    fn watch_assignments(&mut self, now: Timestamp) {
        let stalled_at = now + self.settings.stall;
        for (id, session) in &mut self.sessions {
            for (start, task) in &mut session.tasks {
                let Some(lease) = &mut task.lease else {
                    continue;
                };
                (lease.heard_at, lease.watched_at) = (now, Some(stalled_at));
                let task_id = FrameTaskId { session: id.clone(), start: *start };
                self.timers.set(stalled_at, FarmTimer::Stall(task_id, task.attempt));
            }
        }
    }

    fn restore_renderer(&mut self, record: RendererRecord) {
        let fresh = Renderer::new(record.token_hash, record.slots, record.registered_at);
        let renderer = Renderer {
            state: record.state,
            state_since: record.state_since,
            endpoint: record.endpoint,
            failures: record.failures,
            losses: record.losses,
            last_completed: record.last_completed,
            // A Degraded worker was mostly Healthy before; only one that just registered must send a fine heartbeat.
            was_fine: record.state != RendererState::Registered,
            removal: record.removal,
            removed_from: record.removed_from,
            registered_at: record.registered_at,
            last_heartbeat: record.last_heartbeat,
            bound: false,
            ..fresh
        };
        self.renderers.insert(record.id, renderer);
    }

    fn restore_session(&mut self, record: SessionRecord) {
        self.session_seq = self.session_seq.max(record.seq);
        self.by_age.insert(record.seq, record.id.clone());
        self.sessions.insert(record.id.clone(), Session::new(&record));
    }

    fn restore_task(&mut self, record: &FrameTaskRecord) {
        self.order += 1;
        let order = self.order;
        let Some(session) = self.sessions.get_mut(&record.id.session) else {
            return;
        };
        let range = FrameRange { start: record.id.start, end: record.end };
        session.cut(range);
        let mut task = FrameTask::restored(record, order);
        match record.status {
            FrameTaskStatus::Completed | FrameTaskStatus::Cancelled => {
                session.done += range.len();
                return;
            }
            FrameTaskStatus::Failed => {
                session.failed.insert(range.start, Box::new(record.clone()));
                return;
            }
            FrameTaskStatus::Pending | FrameTaskStatus::Lost => {
                _ = session.ready.insert((order, range.start))
            }
            FrameTaskStatus::Assigned | FrameTaskStatus::Running => {
                task.lease = Some(Assignment::of_an_earlier_term(record.granted_at));
                self.chunks.insert(record.ids.chunk, record.id.clone());
                if let Some(renderer) = self.renderers.get_mut(&record.worker) {
                    renderer.live.insert(record.id.clone());
                }
            }
        }
        session.tasks.insert(range.start, task);
    }

    fn restore_chunk(&mut self, record: &ChunkRecord) {
        if self.has_bug(Mutant::ExtraIdsForgotten) {
            return;
        }
        let Some(task) = self.task_mut(&record.task).filter(|task| task.ids.chunk != record.ids.chunk) else {
            return;
        };
        if let Some(lease) = &mut task.lease {
            lease.extra.push(record.ids);
            self.chunks.insert(record.ids.chunk, record.task.clone());
        }
    }
}

impl Assignment {
    fn of_an_earlier_term(granted_at: Timestamp) -> Self {
        Self {
            extra: Vec::new(),
            pushes: None,
            shown: true,
            processed: 0,
            heard_at: granted_at,
            watched_at: None,
            lines: 0,
            unbound: true,
        }
    }
}

impl FrameTask {
    pub(crate) fn restored(record: &FrameTaskRecord, order: u64) -> Self {
        Self {
            range: FrameRange { start: record.id.start, end: record.end },
            attempt: record.attempt,
            failures: record.failures,
            losses: record.losses,
            losers: record.losers.clone(),
            avoids_until: None,
            suspect: None,
            worker: record.worker.clone(),
            ids: record.ids,
            created_at: record.created_at,
            granted_at: record.granted_at,
            confirmed_at: record.confirmed_at,
            dropped: record.dropped,
            error: record.error.clone(),
            lost: record.status == FrameTaskStatus::Lost,
            order,
            lease: None,
        }
    }
}
