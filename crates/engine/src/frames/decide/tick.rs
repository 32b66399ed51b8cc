//! S3, S8, S15, S19: what is due.

use super::draft::{Draft, Files, Transition};
use crate::{
    Context, Mutant,
    frames::{
        rule::health,
        state::{FORGET_AFTER, FORGET_LOST_AFTER, Farm, FarmTimer, FrameTask},
    },
};
use alloc::{collections::BTreeSet, format, vec::Vec};
use muster_model::{
    AlertKind, EntryId, Event, FrameEvent, FrameTaskId, Millis, Name, RangeEnd, Rebind, Removal,
    RendererState, Timestamp,
};

impl Farm {
    /// Takes the next due timer, and leaves the marks that it stands for.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<FarmTimer> {
        let timer = self.timers.take_due(now)?;
        if timer == FarmTimer::Avoidance {
            self.dirty.check_supply = true;
        }
        if let FarmTimer::Renderer(worker) = &timer
            && let Some(renderer) = self.renderers.get_mut(worker)
        {
            renderer.armed = None;
            if renderer.rests_until.is_some_and(|until| until <= now) {
                renderer.rests_until = None;
                self.dirty.check_supply = true;
            }
        }
        Some(timer)
    }

    /// Sets a timer again that caused no events.
    pub(crate) fn rearm(&mut self, timer: &FarmTimer, now: Timestamp) {
        match timer {
            FarmTimer::Renderer(worker) => self.arm(worker),
            FarmTimer::Stall(task, attempt) => self.watch(task, *attempt, now),
            FarmTimer::Push(..) | FarmTimer::NewTerm | FarmTimer::Avoidance => {}
        }
    }
}

/// Decides the events of a timer that was due.
pub(crate) fn decide_due(farm: &Farm, timer: &FarmTimer, context: &Context<'_>) -> Vec<Event> {
    let mut draft = Draft::new(farm, context);
    match timer {
        FarmTimer::Renderer(worker) => look_at(&mut draft, worker),
        FarmTimer::Stall(task, attempt) => stalled(&mut draft, task, *attempt),
        FarmTimer::Push(task, attempt) => push_again(&mut draft, task, *attempt),
        FarmTimer::NewTerm => end_unbound(&mut draft),
        FarmTimer::Avoidance => {}
    }
    draft.events
}

/// Is this worker silent? Then what it holds is lost (S8, S15).
fn look_at(draft: &mut Draft<'_>, worker: &Name) {
    let Some(renderer) = draft.farm.renderers.get(worker) else {
        return;
    };
    let silence = draft.now - renderer.heard_at;
    match renderer.state {
        RendererState::Lost if silence >= FORGET_LOST_AFTER => {
            draft.add(FrameEvent::RendererForgotten { worker: worker.clone() });
        }
        RendererState::Removed if renderer.is_unanswered() => {
            let since = draft.now - renderer.heard_at.max(renderer.state_since);
            match renderer.removal {
                Some(Removal::Waiting) if is_silent(draft.farm, since) => become_zombie(draft, worker),
                Some(Removal::Silent) if since >= FORGET_LOST_AFTER => {
                    draft.add(FrameEvent::RendererForgotten { worker: worker.clone() });
                }
                _ => {}
            }
        }
        RendererState::Removed if silence >= FORGET_AFTER => {
            draft.add(FrameEvent::RendererForgotten { worker: worker.clone() });
        }
        state if state.may_work() && is_silent(draft.farm, silence) => lose(draft, worker, state),
        _ => {}
    }
}

/// Marks a removed worker that neither acknowledged nor called as a zombie: its files are set apart, and the operator is
/// notified (S6).
fn become_zombie(draft: &mut Draft<'_>, worker: &Name) {
    let Some(renderer) = draft.farm.renderers.get(worker) else {
        return;
    };
    let mut sessions = Vec::new();
    for id in &renderer.removed_from {
        if let Some(session) = draft.farm.sessions.get(id) {
            let files = Files { session: id, output: &session.output, worker };
            draft.set_apart(EntryId::Worker(worker.clone(), id.clone()), &files);
            sessions.push(id.clone());
        }
    }
    draft.change_removal(worker, Removal::Silent, sessions);
    let message = format!(
        "the removed worker {worker} does not answer and may still run: stop it by hand, then confirm its files in the \
         quarantine, or remove it once more"
    );
    draft.alert(AlertKind::WorkerZombie, worker, &message);
}

fn is_silent(farm: &Farm, silence: Millis) -> bool {
    silence >= farm.settings.silence_max() && !farm.has_bug(Mutant::SilenceIgnored)
}

fn lose(draft: &mut Draft<'_>, worker: &Name, from: RendererState) {
    let misses = draft.farm.settings.misses_until_lost;
    let transition = Transition { from, to: RendererState::Lost };
    draft.move_renderer(worker, transition, &format!("{misses} heartbeats missed"));
    let mut held = draft.held(worker);
    if draft.farm.has_bug(Mutant::LostKeepsRange) {
        held.clear();
    }
    let mut blamed = held.is_empty();
    for task in &held {
        blamed |= draft.fail_range(task, RangeEnd::WorkerLost, None);
    }
    let sessions: BTreeSet<_> = held.into_iter().map(|task| task.session).collect();
    for id in sessions {
        if let Some(session) = draft.farm.sessions.get(&id) {
            let files = Files { session: &id, output: &session.output, worker };
            draft.set_apart(EntryId::Worker(worker.clone(), id.clone()), &files);
        }
    }
    if blamed {
        draft.blame(worker, RendererState::Lost);
    }
}

/// A worker that lives and makes nothing of its task holds up the session. Not while it was told to stand still.
fn stalled(draft: &mut Draft<'_>, id: &FrameTaskId, attempt: u16) {
    let Some((_, task)) = draft.live(id).filter(|(_, task)| task.attempt == attempt) else {
        return;
    };
    let heard = task.lease.as_ref().map_or(task.granted_at, |lease| lease.heard_at);
    let stands_still = draft.farm.renderers.get(&task.worker).is_some_and(health::says_full);
    let is_heard = draft.now - heard < draft.farm.settings.stall;
    if is_heard || draft.farm.paused || stands_still || draft.farm.has_bug(Mutant::StallIgnored) {
        return;
    }
    let worker = task.worker.clone();
    let state = draft.farm.renderers.get(&worker).map(|renderer| renderer.state);
    if draft.fail_range(id, RangeEnd::Stalled, None)
        && let Some(state) = state
    {
        draft.blame(&worker, state);
    }
}

fn push_again(draft: &mut Draft<'_>, id: &FrameTaskId, attempt: u16) {
    let Some((_, task)) = draft.live(id).filter(|(_, task)| task.attempt == attempt) else {
        return;
    };
    if !draft.farm.gives_out(&id.session) {
        // Nothing is given out now; it is tried again when something may be.
        let next = draft.now + Millis::from_secs(1);
        draft.add(FrameEvent::PushFailed { task: id.clone(), attempt, next });
    } else if task.confirmed_at.is_none() {
        draft.add(FrameEvent::PushDue { task: id.clone(), attempt });
    }
}

/// Assignments of an earlier term: those never confirmed are given out anew at once, the others too, unless their
/// worker may come back with them and has the time to (S19).
fn end_unbound(draft: &mut Draft<'_>) {
    let farm = draft.farm;
    let over =
        farm.settings.rebind == Rebind::Reassign || draft.now >= farm.began_at + farm.settings.rebind_within;
    let is_over = |task: &FrameTask| {
        if farm.has_bug(Mutant::TermForgotten) {
            return false;
        }
        let unbound = task.lease.as_ref().is_some_and(|lease| lease.unbound);
        unbound && (over || task.confirmed_at.is_none())
    };
    let tasks = farm.sessions.iter().flat_map(|(id, session)| {
        let unbound = session.tasks.iter().filter(|(_, task)| is_over(task));
        unbound.map(|(start, _)| FrameTaskId { session: id.clone(), start: *start })
    });
    let tasks: Vec<FrameTaskId> = tasks.collect();
    for task in tasks {
        draft.end_range(&task, RangeEnd::NewTerm, None);
    }
}
