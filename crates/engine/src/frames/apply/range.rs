//! Ranges of frames: given out, heard of, done, lost.

use crate::{
    Mutant,
    frames::{
        decide::handout_of,
        rule::{cut, health, split},
        state::{Assignment, Farm, FarmTimer, FrameTask, Session},
    },
};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    ChunkRecord, ChunkState, Completion, DiagnosticKind, DiagnosticRecord, Effect, FrameChange, FrameEvent,
    FrameRange, FrameTaskId, FrameTaskRecord, FrameTaskStatus, Millis, Pressure, Progress, RangeEnd,
    RangeGrant, Reopening, ReplayRecord, Timestamp,
};

/// End of an attempt at a range.
struct AttemptEnd<'a> {
    end: RangeEnd,
    error: &'a Option<Box<str>>,
    at: Timestamp,
}

impl Farm {
    pub(super) fn apply_to_range(&mut self, event: &FrameEvent) {
        match event {
            FrameEvent::RangeConfirmed { task, at, .. } => self.confirm(task, *at),
            FrameEvent::RangeShown { task } => self.change_lease(task, |lease| lease.shown = true),
            FrameEvent::PushFailed { task, attempt, next } => {
                self.timers.set(*next, FarmTimer::Push(task.clone(), *attempt));
            }
            FrameEvent::PushDue { task, .. } => self.push(task),
            FrameEvent::RangeProgressed { progress, task, at } => self.note_progress(progress, task, *at),
            FrameEvent::RangeEnded { task, end, error, at, .. } => {
                self.end_range(task, AttemptEnd { end: *end, error, at: *at });
            }
            FrameEvent::RangeCompleted { completion, at, .. } => self.complete(completion, *at),
            FrameEvent::RangeReopened { record, cause, .. } => self.reopen(record, cause),
            FrameEvent::RangeSplit { task, middle, at } => self.split(task, *middle, *at),
            FrameEvent::RangeGivenUp { task, error, at } => self.give_up(task, error, *at),
            FrameEvent::RangeSkipped { record, reason, at } => self.skip(record, reason, *at),
            FrameEvent::RangeRetried { task, .. } => self.retry_range(task),
            FrameEvent::IdsGranted { task, worker, attempt, ids, at } => {
                self.ids.granted(*ids);
                self.dirty.farm |= !self.has_bug(Mutant::AllocatorNotWritten);
                let (ids, at) = (*ids, *at);
                let (task, worker, attempt) = (task.clone(), worker.clone(), *attempt);
                let state = ChunkState::Live;
                self.note_chunk(ChunkRecord {
                    ids,
                    task: task.clone(),
                    worker,
                    attempt,
                    state,
                    reason: None,
                    at,
                });
                self.change_lease(&task, |lease| {
                    lease.extra.push(ids);
                    lease.heard_at = at;
                });
            }
            FrameEvent::ChunkRetired { ids, task, worker, attempt, reason, at } => {
                self.note_chunk(ChunkRecord {
                    ids: *ids,
                    task: task.clone(),
                    worker: worker.clone(),
                    attempt: *attempt,
                    state: ChunkState::Retired,
                    reason: Some(reason.clone()),
                    at: *at,
                });
            }
            _ => {}
        }
    }

    /// A range is given to a worker, cut from the rest if it was not before.
    pub(super) fn grant(&mut self, grant: &RangeGrant) {
        let RangeGrant { task: id, range, worker, attempt, ids, replaces, push, shown, at } = grant;
        self.ids.granted(*ids);
        self.dirty.farm |= !self.has_bug(Mutant::AllocatorNotWritten);
        self.note_chunk(ChunkRecord {
            ids: *ids,
            task: id.clone(),
            worker: worker.clone(),
            attempt: *attempt,
            state: ChunkState::Live,
            reason: None,
            at: *at,
        });
        let Some(session) = self.sessions.get_mut(&id.session) else {
            return;
        };
        session.cut(*range);
        let lease = Assignment {
            extra: Vec::new(),
            pushes: push.then_some(0),
            shown: *shown,
            processed: 0,
            heard_at: *at,
            watched_at: None,
            lines: 0,
            unbound: false,
        };
        let task = session.tasks.entry(id.start).or_insert_with(|| FrameTask::cut(grant));
        session.ready.remove(&(task.order, id.start));
        (task.attempt, task.ids, task.granted_at) = (*attempt, *ids, *at);
        task.worker.clone_from(worker);
        (task.confirmed_at, task.dropped, task.lost) = (None, 0, false);
        task.lease = Some(lease);
        self.reindex(&id.session);
        self.dirty.tasks.insert(id.clone());
        self.change_renderer(worker, |renderer| {
            renderer.live.insert(id.clone());
            renderer.stops.remove(id);
        });
        if let Some(retired) = replaces.filter(|_| !self.has_bug(Mutant::ReplayForgotten)) {
            let (session, range, new, at) = (id.session.clone(), *range, ids.chunk, *at);
            self.dirty.effects.push(Effect::WriteSession { session: session.clone() });
            self.dirty.history.push(FrameChange::Replay(ReplayRecord { session, range, retired, new, at }));
        }
        if *push {
            self.push(id);
        } else if !shown {
            self.dirty.woken.insert(worker.clone());
        }
        self.watch(id, *attempt, *at);
    }

    /// Has a task brought to its worker, once more.
    fn push(&mut self, id: &FrameTaskId) {
        self.change_lease(id, |lease| lease.pushes = lease.pushes.map(|tries| tries + 1));
        let handout = handout_of(self, id);
        let Some(worker) = self.task(id).map(|task| task.worker.clone()) else {
            return;
        };
        let renderer = self.renderers.get(&worker);
        let target = renderer.and_then(|renderer| Some((renderer.endpoint.clone()?, renderer.token_hash)));
        if let (Some(handout), Some((endpoint, token_hash))) = (handout, target) {
            self.dirty.effects.push(Effect::Push { worker, endpoint, token_hash, handout });
        }
    }

    fn confirm(&mut self, id: &FrameTaskId, at: Timestamp) {
        if let Some(task) = self.task_mut(id) {
            task.confirmed_at = Some(at);
            self.dirty.tasks.insert(id.clone());
        }
    }

    fn note_progress(&mut self, progress: &Progress, id: &FrameTaskId, at: Timestamp) {
        let forgets = self.has_bug(Mutant::DropsForgotten);
        let task = self.task_mut(id).filter(|_| !forgets);
        if let Some(task) = task.filter(|task| task.dropped < progress.dropped) {
            task.dropped = progress.dropped;
            self.dirty.tasks.insert(id.clone());
        }
        let mut room = 0;
        self.change_lease(id, |lease| {
            lease.heard_at = at;
            lease.processed = lease.processed.max(progress.processed);
            room = LINES_MAX.saturating_sub(lease.lines);
            lease.lines += progress.diagnostics.len().min(room);
        });
        if let Some(renderer) = self.renderers.get_mut(&progress.worker) {
            let stood_still = health::pressure(renderer) == Pressure::Pause;
            renderer.max_queue_ratio = Some(progress.max_queue_ratio);
            self.dirty.check_supply |= stood_still && health::pressure(renderer) != Pressure::Pause;
        }
        let lines = progress.diagnostics.iter().take(room).map(|text| {
            let (worker, session) = (progress.worker.clone(), progress.session.clone());
            let (task, text) = (Some(id.clone()), text.clone());
            let kind = DiagnosticKind::Message;
            FrameChange::Diagnostic(DiagnosticRecord { kind, worker, session, task, text, at })
        });
        self.dirty.history.extend(lines);
    }

    /// The range waits again, in line behind those that came back before it.
    fn end_range(&mut self, id: &FrameTaskId, ended: AttemptEnd<'_>) {
        let AttemptEnd { end, error, at } = ended;
        let order = self.next_order();
        let Some(session) = self.sessions.get_mut(&id.session) else {
            return;
        };
        let Some(task) = session.tasks.get_mut(&id.start) else {
            return;
        };
        let (worker, attempt, lease) = (task.worker.clone(), task.attempt, task.lease.take());
        let unreached = end == RangeEnd::Unreachable;
        task.error = error.clone().or_else(|| Some(end.as_str().into()));
        task.lost = end.is_loss();
        task.failures += u16::from(end.is_failure());
        task.losses += u16::from(end.is_lost_worker());
        if end.counts_against_task() {
            if !task.losers.contains(&worker) {
                task.losers.push(worker.clone());
            }
            // A worker that makes frames in order failed at the one after those it made.
            let processed = lease.as_ref().map_or(0, |lease| lease.processed);
            task.suspect = Some(task.range.start + processed.min(task.range.len() - 1));
        }
        if end.is_failure() {
            task.avoids_until = Some(at + split::AVOIDANCE);
            self.timers.set(at + split::AVOIDANCE, FarmTimer::Avoidance);
        }
        task.order = order;
        session.ready.insert((order, id.start));
        if let Some(lease) = lease {
            self.unwatch(id, attempt, &lease);
        }
        self.reindex(&id.session);
        self.dirty.tasks.insert(id.clone());
        self.dirty.check_supply = true;
        self.change_renderer(&worker, |renderer| {
            renderer.live.remove(id);
            if unreached {
                renderer.rests_until = Some(at + REST_AFTER_PUSH);
            }
        });
        self.arm(&worker);
        if !matches!(end, RangeEnd::Failed | RangeEnd::Replaced | RangeEnd::Unreachable) {
            self.owe_stop(&worker, id);
        }
    }

    /// The range is done and leaves memory; what was granted for it is used.
    fn complete(&mut self, completion: &Completion, at: Timestamp) {
        let id = &completion.task;
        let Some(mut record) = self.task_record(id) else {
            return;
        };
        let removed = self.sessions.get_mut(&id.session).and_then(|session| {
            let task = session.tasks.remove(&id.start)?;
            session.done += task.range.len();
            Some(task)
        });
        let Some(task) = removed else {
            return;
        };
        (record.status, record.ended_at, record.dropped) =
            (FrameTaskStatus::Completed, Some(at), completion.dropped);
        (record.digest, record.result, record.error) =
            (Some(completion.digest), Some(completion.result.clone()), None);
        let extra = task.lease.iter().flat_map(|lease| lease.extra.iter().copied());
        for ids in [task.ids].into_iter().chain(extra) {
            let (worker, attempt, state) = (task.worker.clone(), task.attempt, ChunkState::Used);
            self.note_chunk(ChunkRecord { ids, task: id.clone(), worker, attempt, state, reason: None, at });
        }
        if let Some(lease) = &task.lease {
            self.unwatch(id, task.attempt, lease);
        }
        let frames = task.range.len();
        self.change_renderer(&task.worker, |renderer| {
            renderer.live.remove(id);
            renderer.rate = Some(cut::rate_after(renderer.rate, frames, (at - task.granted_at).0));
            renderer.last_completed = Some(at);
            renderer.failures.clear();
        });
        self.recent.tasks.insert(id.clone(), Box::new(record));
        self.dirty.tasks.remove(id);
        self.dirty.ended.insert(id.clone());
        self.dirty.sessions.insert(id.session.clone());
        self.dirty.check_sessions.insert(id.session.clone());
        self.dirty.check_supply = true;
        self.dirty.woken.insert(task.worker);
    }

    /// A completed range waits again.
    fn reopen(&mut self, record: &FrameTaskRecord, cause: &Reopening) {
        let order = self.next_order();
        let id = record.id.clone();
        let Some(session) = self.sessions.get_mut(&id.session) else {
            return;
        };
        let mut task = FrameTask::restored(record, order);
        match cause {
            Reopening::Retired => task.error = Some(RangeEnd::Retired.as_str().into()),
            Reopening::Skipped(reason) => {
                task.failures += 1;
                task.error = Some(reason.clone());
            }
        }
        task.lost = false;
        session.done -= task.range.len();
        session.merging = None;
        session.ready.insert((order, id.start));
        session.tasks.insert(id.start, task);
        self.recent.tasks.remove(&id);
        self.dirty.ended.remove(&id);
        self.reindex(&id.session);
        self.dirty.sessions.insert(id.session.clone());
        self.dirty.tasks.insert(id);
        self.dirty.check_supply = true;
    }

    /// Writes down what became of granted ids; live ones are known by number.
    fn note_chunk(&mut self, record: ChunkRecord) {
        let chunk = record.ids.chunk;
        match record.state {
            ChunkState::Live => _ = self.chunks.insert(chunk, record.task.clone()),
            ChunkState::Used | ChunkState::Retired => {
                self.chunks.remove(&chunk);
                self.recent.chunks.insert(chunk, Box::new(record.clone()));
            }
        }
        self.dirty.history.push(FrameChange::Chunk(record));
    }

    fn change_lease(&mut self, id: &FrameTaskId, change: impl FnOnce(&mut Assignment)) {
        if let Some(lease) = self.task_mut(id).and_then(|task| task.lease.as_mut()) {
            change(lease);
        }
    }

    pub(super) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }
}

impl Session {
    /// Takes frames out of the uncut ones; none of them, where they were cut before.
    pub(crate) fn cut(&mut self, range: FrameRange) {
        let Some(stretch) = self.stretch_of(range.start) else {
            return;
        };
        self.uncut.remove(&stretch.start);
        for rest in [(stretch.start, range.start), (range.end, stretch.end)] {
            if rest.0 < rest.1 {
                self.uncut.insert(rest.0, rest.1);
            }
        }
    }
}

impl FrameTask {
    fn cut(grant: &RangeGrant) -> Self {
        Self {
            range: grant.range,
            attempt: 0,
            failures: 0,
            losses: 0,
            losers: Vec::new(),
            avoids_until: None,
            suspect: None,
            worker: grant.worker.clone(),
            ids: grant.ids,
            created_at: grant.at,
            granted_at: grant.at,
            confirmed_at: None,
            dropped: 0,
            error: None,
            lost: false,
            order: 0,
            lease: None,
        }
    }
}

/// Lines that one attempt may leave in the diagnostics log; further ones are left out.
const LINES_MAX: usize = 1000;
/// Time without pushes to a worker that could not be reached.
const REST_AFTER_PUSH: Millis = Millis::from_secs(15);
