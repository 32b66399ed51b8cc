//! Workers of sessions.

use super::TOLD_TIMES;
use crate::{
    Mutant,
    frames::{
        rule::health,
        state::{Farm, Renderer},
    },
};
use alloc::{collections::BTreeMap, vec::Vec};
use muster_model::{
    FrameChange, FrameEvent, FrameTaskId, Heartbeat, Name, Pressure, Registration, Removal, RendererState,
    SessionId, Timestamp, TransitionRecord,
};

impl Farm {
    pub(super) fn apply_to_renderer(&mut self, event: &FrameEvent) {
        match event {
            FrameEvent::RendererRegistered { registration, at } => self.register(registration, *at),
            FrameEvent::RendererMoved { worker, from, to, cause, at } => {
                let (from, to) = (*from, *to);
                let record =
                    TransitionRecord { worker: worker.clone(), from, to, cause: cause.clone(), at: *at };
                self.dirty.history.push(FrameChange::Transition(record));
                *self.transitions.entry((from, to)).or_default() += 1;
                self.move_to(worker, to, *at);
            }
            FrameEvent::FailureCounted { worker, lost, at } => self.count_failure(worker, *lost, *at),
            FrameEvent::FailuresCleared { worker } => self.change_renderer(worker, |renderer| {
                renderer.failures.clear();
                renderer.losses.clear();
            }),
            FrameEvent::RemovalChanged { worker, to, sessions } => self.change_removal(worker, *to, sessions),
            FrameEvent::RendererForgotten { worker } => self.forget_renderer(worker),
            FrameEvent::HeartbeatHeard { heartbeat, at } => self.hear(heartbeat, *at),
            FrameEvent::ZombieHeard { worker, at } => self.hear_zombie(worker, *at),
            FrameEvent::RendererBound { worker, kept } => self.bind(worker, kept.as_ref()),
            FrameEvent::OrdersTold { worker } => self.told(worker),
            _ => {}
        }
    }

    /// A new incarnation: of the one before only its name, its state and what counts against it are left.
    fn register(&mut self, registration: &Registration, at: Timestamp) {
        let Registration { worker, token_hash, endpoint, slots, description } = registration;
        let fresh = Renderer::new(*token_hash, *slots, at);
        self.renderers.entry(worker.clone()).or_insert_with(|| {
            let fresh = fresh.clone();
            self.crew.put_up(&fresh, worker);
            fresh
        });
        self.change_renderer(worker, |renderer| {
            let kept = (renderer.state, renderer.state_since, renderer.armed, renderer.waiting);
            let failures = core::mem::take(&mut renderer.failures);
            let losses = core::mem::take(&mut renderer.losses);
            let last_completed = renderer.last_completed;
            *renderer = Renderer { failures, losses, last_completed, ..fresh };
            (renderer.state, renderer.state_since, renderer.armed, renderer.waiting) = kept;
            renderer.endpoint.clone_from(endpoint);
            renderer.description = Some(description.clone());
        });
        self.dirty.check_supply = true;
        self.arm(worker);
    }

    fn move_to(&mut self, worker: &Name, to: RendererState, at: Timestamp) {
        self.change_renderer(worker, |renderer| {
            (renderer.state, renderer.state_since) = (to, at);
            (renderer.fine, renderer.fine_since) = (0, None);
            if to.may_work() {
                renderer.heard_at = renderer.heard_at.max(at);
            }
        });
        // Ranges that were kept for a worker go to others when it may not work any more (S26b).
        self.dirty.check_supply = true;
        self.dirty.woken.insert(worker.clone());
        self.arm(worker);
    }

    fn count_failure(&mut self, worker: &Name, lost: bool, at: Timestamp) {
        let window = at - self.settings.quarantine_window;
        self.change_renderer(worker, |renderer| {
            let counted = if lost { &mut renderer.losses } else { &mut renderer.failures };
            counted.retain(|earlier| *earlier > window);
            counted.push(at);
        });
    }

    /// Changes a removed worker's reaction to its removal. Until it answers, it is told by push and watched (S6).
    fn change_removal(&mut self, worker: &Name, to: Removal, sessions: &[SessionId]) {
        self.change_renderer(worker, |renderer| {
            renderer.removal = Some(to);
            renderer.removed_from = sessions.to_vec();
        });
        let removed = self.renderers.get(worker).filter(|_| to == Removal::Waiting);
        self.dirty.effects.extend(removed.and_then(|renderer| renderer.dismissal(worker)));
        self.arm(worker);
    }

    fn forget_renderer(&mut self, worker: &Name) {
        if let Some(renderer) = self.renderers.remove(worker) {
            self.crew.take_down(&renderer, worker);
            self.dirty.renderers.remove(worker);
            self.dirty.history.push(FrameChange::RendererGone(worker.clone()));
        }
    }

    /// A sign of life is not durable; it may let a worker that stood still go on.
    fn hear(&mut self, heartbeat: &Heartbeat, at: Timestamp) {
        let settings = self.settings;
        let Some(renderer) = self.renderers.get_mut(&heartbeat.worker) else {
            return;
        };
        let fine = health::complaint(&settings, renderer, heartbeat, at).is_none();
        let (stood_still, was_heard) = (health::pressure(renderer) == Pressure::Pause, renderer.is_heard());
        renderer.is_slow = health::is_slow(&settings, renderer, heartbeat, at);
        renderer.beat_at = Some(at);
        renderer.heard_at = renderer.heard_at.max(at);
        renderer.last_heartbeat = Some(at);
        renderer.queue_ratio = heartbeat.queue_ratio;
        renderer.gpu_usage = heartbeat.gpu_usage;
        renderer.last_frame = heartbeat.last_frame;
        renderer.fine = if fine { renderer.fine.saturating_add(1) } else { 0 };
        renderer.was_fine |= fine;
        renderer.fine_since = fine.then(|| renderer.fine_since.unwrap_or(at));
        let goes_on = stood_still && health::pressure(renderer) != Pressure::Pause;
        // A worker that was heard for the first time may get work now (S8).
        let is_new = !was_heard && renderer.is_heard();
        self.dirty.check_supply |= goes_on || is_new;
    }

    /// A worker that was removed still calls, whatever it is (S6).
    fn hear_zombie(&mut self, worker: &Name, at: Timestamp) {
        let until = at + self.settings.silence_max();
        if let Some(renderer) = self.renderers.get_mut(worker) {
            renderer.zombie_until = Some(until);
            renderer.heard_at = renderer.heard_at.max(at);
        }
    }

    fn bind(&mut self, worker: &Name, kept: Option<&FrameTaskId>) {
        if let Some(lease) = kept.and_then(|id| self.task_mut(id)).and_then(|task| task.lease.as_mut()) {
            lease.unbound = false;
        }
        if let Some(kept) = kept {
            self.forget_stop(worker, kept);
        }
        self.change_renderer(worker, |renderer| renderer.bound = true);
        self.dirty.check_supply = true;
    }

    fn forget_stop(&mut self, worker: &Name, task: &FrameTaskId) {
        if let Some(renderer) = self.renderers.get_mut(worker) {
            renderer.stops.remove(task);
        }
    }

    fn told(&mut self, worker: &Name) {
        let Some(renderer) = self.renderers.get_mut(worker) else {
            return;
        };
        // A worker that may not work, or has not rebound yet, gets stop orders but no resume order: its count stays.
        let is_resumed = renderer.state.may_work() && renderer.bound;
        renderer.resume_owed = renderer.resume_owed.saturating_sub(is_resumed.into());
        let left: Vec<_> = core::mem::take(&mut renderer.stops).into_iter().collect();
        let left = left.into_iter().filter(|(_, times)| *times > 1).map(|(task, times)| (task, times - 1));
        renderer.stops = left.collect::<BTreeMap<_, _>>();
    }

    /// Has a worker told to stop what is no longer its own.
    pub(super) fn owe_stop(&mut self, worker: &Name, task: &FrameTaskId) {
        if self.has_bug(Mutant::StopForgotten) {
            return;
        }
        if let Some(renderer) = self.renderers.get_mut(worker) {
            renderer.stops.insert(task.clone(), TOLD_TIMES);
        }
    }
}
