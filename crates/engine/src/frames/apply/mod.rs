//! Makes events so. Nothing here refuses, and nothing here is decided.

mod diagnostics;
mod range;
mod renderer;
mod session;

use super::state::{Assignment, Farm, FarmTimer};
use muster_model::{
    Effect, EntryId, FrameChange, FrameEvent, FrameTaskId, Millis, QuarantineRecord, Timestamp,
};

impl Farm {
    /// Changes memory by one event.
    pub(crate) fn apply(&mut self, event: &FrameEvent) {
        self.diagnose(event);
        match event {
            FrameEvent::RendererRegistered { .. }
            | FrameEvent::RendererMoved { .. }
            | FrameEvent::FailureCounted { .. }
            | FrameEvent::FailuresCleared { .. }
            | FrameEvent::RemovalChanged { .. }
            | FrameEvent::RendererForgotten { .. }
            | FrameEvent::HeartbeatHeard { .. }
            | FrameEvent::ZombieHeard { .. }
            | FrameEvent::RendererBound { .. }
            | FrameEvent::OrdersTold { .. } => self.apply_to_renderer(event),
            FrameEvent::SessionSubmitted { .. }
            | FrameEvent::SessionSteered { .. }
            | FrameEvent::SessionEnded { .. }
            | FrameEvent::SessionReopened { .. } => self.apply_to_session(event),
            FrameEvent::RangeGranted(grant) => self.grant(grant),
            FrameEvent::RangeConfirmed { .. }
            | FrameEvent::RangeShown { .. }
            | FrameEvent::PushFailed { .. }
            | FrameEvent::PushDue { .. }
            | FrameEvent::RangeProgressed { .. }
            | FrameEvent::RangeEnded { .. }
            | FrameEvent::RangeCompleted { .. }
            | FrameEvent::RangeReopened { .. }
            | FrameEvent::RangeSplit { .. }
            | FrameEvent::RangeGivenUp { .. }
            | FrameEvent::RangeSkipped { .. }
            | FrameEvent::RangeRetried { .. }
            | FrameEvent::IdsGranted { .. }
            | FrameEvent::ChunkRetired { .. } => self.apply_to_range(event),
            FrameEvent::QuarantineWanted { .. }
            | FrameEvent::QuarantineMoved { .. }
            | FrameEvent::QuarantineConfirmed { .. } => self.apply_to_quarantine(event),
            FrameEvent::Broadcast { paused, .. } => self.set_paused(*paused),
        }
    }

    /// Sets the timer that looks whether an assignment is still heard of.
    pub(crate) fn watch(&mut self, id: &FrameTaskId, attempt: u16, now: Timestamp) {
        let stall = self.settings.stall;
        let live = self.task_mut(id).filter(|task| task.attempt == attempt);
        let Some(lease) = live.and_then(|task| task.lease.as_mut()) else {
            return;
        };
        let due = lease.heard_at + stall;
        // Overdue and yet alive: everything stands still on request. It is looked at again in a while.
        let due = if due > now { due } else { now + LOOK_AGAIN };
        lease.watched_at = Some(due);
        self.timers.set(due, FarmTimer::Stall(id.clone(), attempt));
    }

    /// Takes down the timer of an assignment that is over.
    pub(crate) fn unwatch(&mut self, id: &FrameTaskId, attempt: u16, lease: &Assignment) {
        if let Some(due) = lease.watched_at {
            self.timers.clear(due, FarmTimer::Stall(id.clone(), attempt));
        }
    }

    fn apply_to_quarantine(&mut self, event: &FrameEvent) {
        match event {
            FrameEvent::QuarantineWanted { entry, session, output, worker, at } => {
                let record = QuarantineRecord {
                    id: entry.clone(),
                    session: session.clone(),
                    output: output.clone(),
                    worker: worker.clone(),
                    moved: false,
                    files: 0,
                    confirmed: None,
                    at: *at,
                };
                self.want_moved(record);
            }
            FrameEvent::QuarantineMoved { entry, files, .. } => self.moved(entry, *files),
            FrameEvent::QuarantineConfirmed { record, note, .. } => {
                let confirmed = QuarantineRecord { confirmed: Some(note.clone()), ..(**record).clone() };
                self.dirty.history.push(FrameChange::Quarantine(confirmed.into()));
            }
            _ => {}
        }
    }

    fn want_moved(&mut self, record: QuarantineRecord) {
        self.dirty.history.push(FrameChange::Quarantine(record.clone().into()));
        self.dirty.effects.push(Effect::Quarantine(record.clone().into()));
        self.quarantine.insert(record.id.clone(), record);
    }

    fn moved(&mut self, entry: &EntryId, files: u64) {
        if let Some(record) = self.quarantine.remove(entry) {
            let moved = QuarantineRecord { moved: true, files, ..record };
            self.dirty.history.push(FrameChange::Quarantine(moved.into()));
        }
    }

    fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
        self.dirty.farm = true;
        self.dirty.check_supply |= !paused;
        for (name, renderer) in &mut self.renderers {
            renderer.resume_owed = if paused { 0 } else { TOLD_TIMES };
            // It may hold what it could not be told meanwhile.
            if !paused && renderer.waiting > 0 && !renderer.live.is_empty() {
                self.dirty.woken.insert(name.clone());
            }
        }
    }
}

/// Delay before an assignment is looked at again that is not to be judged now.
const LOOK_AGAIN: Millis = Millis::from_secs(10);
/// Number of times an order is repeated, since an answer may be lost.
pub(super) const TOLD_TIMES: u8 = 5;
