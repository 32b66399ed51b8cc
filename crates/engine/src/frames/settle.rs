//! Consequences of events: sessions whose frames are all done, work for workers that can be reached.

use super::{
    decide::{Delivery, Recipient, find_work, grant, may_be_given},
    state::{Farm, Renderer, Session},
};
use crate::{Context, Mutant};
use alloc::{boxed::Box, vec, vec::Vec};
use core::cmp::Reverse;
use muster_model::{Effect, Event, FrameEvent, Name, RendererState, Timestamp};

impl Farm {
    /// Records the time of the current command.
    pub(crate) fn note_time(&mut self, now: Timestamp) {
        self.latest = self.latest.max(now);
    }

    /// True if no mark is left that could cause an event.
    pub(crate) fn is_settled(&self) -> bool {
        self.dirty.check_sessions.is_empty() && !self.dirty.check_supply
    }

    /// The consequences due now; none when everything is settled. Takes down the marks it has followed.
    pub(crate) fn consequences(&mut self, context: &Context<'_>) -> Vec<Event> {
        for id in core::mem::take(&mut self.dirty.check_sessions) {
            self.begin_merge(&id);
        }
        if !core::mem::take(&mut self.dirty.check_supply) {
            return Vec::new();
        }
        self.dirty.check_wake = true;
        let Some(event) = self.next_push(context) else {
            return Vec::new();
        };
        // Decides the next push only after this one is applied, because this one takes work away.
        self.dirty.check_supply = true;
        vec![Event::Frames(event)]
    }

    /// Workers whose waiting requests should be decided again since the last call: as many as there is work for, the ablest
    /// first, so that no crowd is woken for one range.
    pub(crate) fn take_woken(&mut self) -> Vec<Name> {
        let mut woken = core::mem::take(&mut self.dirty.woken);
        if self.has_bug(Mutant::AskerNotWoken) {
            return Vec::new();
        }
        woken.retain(|name| self.renderers.get(name).is_some_and(|renderer| renderer.waiting > 0));
        if core::mem::take(&mut self.dirty.check_wake) {
            woken.extend(self.worth_waking());
        }
        woken.into_iter().collect()
    }

    /// Tells that a request of a worker waits for a task from now on.
    pub(crate) fn begin_waiting(&mut self, worker: &Name) {
        self.adjust_renderer(worker, |renderer| renderer.waiting += 1);
    }

    /// Tells that it was answered or given up; what it was woken for may be for somebody else.
    pub(crate) fn end_waiting(&mut self, worker: &Name) {
        self.adjust_renderer(worker, |renderer| renderer.waiting = renderer.waiting.saturating_sub(1));
        self.dirty.check_wake = true;
    }

    fn begin_merge(&mut self, id: &muster_model::SessionId) {
        let is_over = |session: &&mut Session| session.done + session.failed_frames() == session.total;
        let next_chunk = self.ids.next_chunk;
        if let Some(session) = self.sessions.get_mut(id).filter(is_over) {
            // Whatever is rendered again takes a chunk, so a later manifest has a later mark.
            let mark = *session.merging.get_or_insert(next_chunk);
            self.dirty.effects.push(Effect::Merge { session: id.clone(), mark });
        }
    }

    /// A task for the first of those who take tasks by push; the healthy ones come first.
    fn next_push(&self, context: &Context<'_>) -> Option<FrameEvent> {
        let can = |name: &&Name| {
            self.renderers.get(*name).is_some_and(|renderer| may_be_given(self, renderer, context.now))
        };
        if self.offering.is_empty() || self.has_bug(Mutant::PushForgotten) {
            return None;
        }
        let mut able = self.crew.reachable.iter().flatten().filter(can);
        let (worker, work) = able.find_map(|worker| Some((worker, find_work(self, worker, context.now)?)))?;
        let granted =
            grant(self, &work, &Recipient { worker, delivery: Delivery::Push }, context.now).ok()?;
        Some(FrameEvent::RangeGranted(Box::new(granted)))
    }

    fn worth_waking(&self) -> Vec<Name> {
        let mut pieces = self.pieces(self.crew.hungry.len());
        if pieces == 0 || self.paused {
            return Vec::new();
        }
        let renderer = |name: &Name| &self.renderers[name];
        let could = |name: &&Name| find_work(self, name, self.latest).is_some();
        let mut able: Vec<&Name> = self.crew.hungry.iter().filter(could).collect();
        able.sort_by_key(|name| rank(renderer(name)));
        pieces = pieces.min(able.len());
        able.into_iter().take(pieces).cloned().collect()
    }

    /// Number of ranges that could be given out, counted up to `most`.
    fn pieces(&self, most: usize) -> usize {
        let mut pieces = 0usize;
        let offering = self.offering.iter().filter_map(|seq| self.sessions.get(self.by_age.get(seq)?));
        for session in offering {
            // At least so many: a stretch may be cut finer, and is offered again when it is.
            let uncut = session.uncut_frames().div_ceil(session.per_task);
            pieces = pieces.saturating_add(session.ready.len());
            pieces = pieces.saturating_add(usize::try_from(uncut).unwrap_or(usize::MAX));
            if pieces >= most {
                return most;
            }
        }
        pieces
    }
}

fn rank(renderer: &Renderer) -> (RendererState, Reverse<u64>) {
    // Healthy before Registered before Degraded: by state the order would be Registered first.
    let state = match renderer.state {
        RendererState::Healthy => RendererState::Registered,
        RendererState::Registered => RendererState::Healthy,
        state => state,
    };
    (state, Reverse(renderer.rate.unwrap_or(0)))
}
