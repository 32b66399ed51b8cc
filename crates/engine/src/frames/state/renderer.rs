//! Workers of sessions, one by one and together.

use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet},
    vec::Vec,
};
use muster_model::{
    Effect, FrameSettings, FrameTaskId, Millis, Name, Ratio, Removal, RendererState, SessionId, Timestamp,
};

/// A worker.
#[derive(Clone, Debug)]
pub(crate) struct Renderer {
    pub(crate) state: RendererState,
    pub(crate) state_since: Timestamp,
    pub(crate) token_hash: [u8; 32],
    pub(crate) endpoint: Option<Box<str>>,
    pub(crate) slots: u32,
    /// Failed ranges and losses that may count towards its diagnosis (S8).
    pub(crate) failures: Vec<Timestamp>,
    pub(crate) losses: Vec<Timestamp>,
    /// Time when it last completed a range (S26b).
    pub(crate) last_completed: Option<Timestamp>,
    /// Reaction to its removal, and the sessions it held ranges of then (S6).
    pub(crate) removal: Option<Removal>,
    pub(crate) removed_from: Vec<SessionId>,
    pub(crate) registered_at: Timestamp,
    /// Not written to the store yet.
    pub(crate) description: Option<Box<str>>,
    pub(crate) live: BTreeSet<FrameTaskId>,

    // What follows is not durable.
    /// Silence counts from here: the last heartbeat, or the start of the term.
    pub(crate) heard_at: Timestamp,
    pub(crate) last_heartbeat: Option<Timestamp>,
    /// Arrival of the last heartbeat in this term: the next one is late by what exceeds the interval (S8b).
    pub(crate) beat_at: Option<Timestamp>,
    /// Its last heartbeat took long, or came late (S8b).
    pub(crate) is_slow: bool,
    /// Fine heartbeats in a row.
    pub(crate) fine: u32,
    /// One of its heartbeats was fine, since it registered.
    pub(crate) was_fine: bool,
    /// Since when all heartbeats were fine.
    pub(crate) fine_since: Option<Timestamp>,
    pub(crate) queue_ratio: Ratio,
    pub(crate) gpu_usage: Option<Ratio>,
    pub(crate) last_frame: Option<u64>,
    /// Of its latest progress.
    pub(crate) max_queue_ratio: Option<Ratio>,
    /// Frames per 1000 seconds, as its completed ranges tell.
    pub(crate) rate: Option<u64>,
    /// Requests of it that wait for a task.
    pub(crate) waiting: u32,
    /// It told in this term what it is at (S19).
    pub(crate) bound: bool,
    /// Number of times it must still be told to resume after a pause.
    pub(crate) resume_owed: u8,
    /// Tasks it must be told to stop, and how often still.
    pub(crate) stops: BTreeMap<FrameTaskId, u8>,
    /// No push to it before, after some that failed.
    pub(crate) rests_until: Option<Timestamp>,
    /// Removed, and calling since: a zombie until then (S6).
    pub(crate) zombie_until: Option<Timestamp>,
    pub(crate) armed: Option<Timestamp>,
}

/// Totals over the workers that may work; kept up by `Farm::change_renderer`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crew {
    /// Workers that may work.
    pub(crate) able: u64,
    /// Those of them whose rate is known, and the sum of these rates.
    pub(crate) rated: u64,
    pub(crate) rate_sum: u64,
    /// Those that take tasks by push and have a free slot: the healthy ones, and the others.
    pub(crate) reachable: [BTreeSet<Name>; 2],
    /// Those that wait for a task and have a free slot.
    pub(crate) hungry: BTreeSet<Name>,
}

impl Renderer {
    pub(crate) fn new(token_hash: [u8; 32], slots: u32, at: Timestamp) -> Self {
        Self {
            state: RendererState::Registered,
            state_since: at,
            token_hash,
            endpoint: None,
            slots,
            failures: Vec::new(),
            losses: Vec::new(),
            last_completed: None,
            removal: None,
            removed_from: Vec::new(),
            registered_at: at,
            description: None,
            live: BTreeSet::new(),
            heard_at: at,
            last_heartbeat: None,
            beat_at: None,
            is_slow: false,
            fine: 0,
            was_fine: false,
            fine_since: None,
            queue_ratio: Ratio::default(),
            gpu_usage: None,
            last_frame: None,
            max_queue_ratio: None,
            rate: None,
            waiting: 0,
            bound: true,
            resume_owed: 0,
            stops: BTreeMap::new(),
            rests_until: None,
            zombie_until: None,
            armed: None,
        }
    }

    /// True if it was removed and has shown no sign of knowing it (S6).
    pub(crate) fn is_unanswered(&self) -> bool {
        matches!(self.removal, Some(Removal::Waiting | Removal::Silent))
    }

    /// The effect that tells it by push that it was removed (S6); `None` if it cannot be reached.
    pub(crate) fn dismissal(&self, name: &Name) -> Option<Effect> {
        let (worker, endpoint, token_hash) = (name.clone(), self.endpoint.clone()?, self.token_hash);
        Some(Effect::Dismiss { worker, endpoint, token_hash })
    }

    pub(crate) fn has_free_slot(&self) -> bool {
        self.live.len() < self.slots as usize
    }

    /// True if it has sent a good heartbeat: a worker gets no work before (S8).
    pub(crate) fn is_heard(&self) -> bool {
        match self.state {
            RendererState::Registered => self.fine > 0,
            RendererState::Healthy => true,
            _ => self.was_fine,
        }
    }

    pub(super) fn next_look(&self, settings: &FrameSettings) -> Option<Timestamp> {
        let last = self.state_since.max(self.heard_at);
        match self.state {
            RendererState::Removed if self.removal == Some(Removal::Waiting) => {
                Some(last + settings.silence_max())
            }
            RendererState::Removed if self.removal == Some(Removal::Silent) => Some(last + FORGET_LOST_AFTER),
            RendererState::Removed => Some(last + FORGET_AFTER),
            RendererState::Lost => Some(last + FORGET_LOST_AFTER),
            RendererState::Quarantined => None,
            _ => {
                let silent = self.heard_at + settings.silence_max();
                Some(self.rests_until.map_or(silent, |rest| rest.min(silent)))
            }
        }
    }
}

impl Crew {
    pub(crate) fn take_down(&mut self, renderer: &Renderer, name: &Name) {
        self.hungry.remove(name);
        for reachable in &mut self.reachable {
            reachable.remove(name);
        }
        if renderer.state.may_work() {
            self.able -= 1;
            self.rated -= u64::from(renderer.rate.is_some());
            self.rate_sum -= renderer.rate.unwrap_or(0);
        }
    }

    pub(crate) fn put_up(&mut self, renderer: &Renderer, name: &Name) {
        if !renderer.state.may_work() {
            return;
        }
        self.able += 1;
        self.rated += u64::from(renderer.rate.is_some());
        self.rate_sum += renderer.rate.unwrap_or(0);
        if !renderer.has_free_slot() {
            return;
        }
        if renderer.waiting > 0 {
            self.hungry.insert(name.clone());
        }
        if renderer.endpoint.is_some() && renderer.bound {
            let [healthy, others] = &mut self.reachable;
            let place = if renderer.state == RendererState::Healthy { healthy } else { others };
            place.insert(name.clone());
        }
    }
}

/// Time for which a lost worker is remembered.
pub(crate) const FORGET_LOST_AFTER: Millis = Millis::from_secs(30 * 86_400);
/// Time for which a removed worker is remembered after it was last heard of (S6).
pub(crate) const FORGET_AFTER: Millis = Millis::from_secs(3600);
