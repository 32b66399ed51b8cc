//! The worker's mind: access, who it is, heartbeats, slots, results. It has no clock, no disk and no network.
//!
//! Whoever drives it tells it what happened (the methods below), takes what it wants done from [`Core::next_action`],
//! and wakes it at [`Core::next_wake`]. It never sees a secret: passwords, tokens and keys are the driver's business.
//!
//! Its promises (P16): a result leaves only when it is on disk, and stays there until the server has it or will never
//! take it; no assignment is executed twice at the same time, nor again once its result is on disk; never more are
//! executed at once than there are slots.

mod access;
mod action;
mod bind;
mod farewell;
mod outbox;
mod take;

#[cfg(test)]
mod tests;

pub use muster_contract_pool::WorkerSummary;

pub use action::{
    Action, Counts, End, Note, Outcome, Over, Spooled, Started, Status, Submission, Submitted, Work,
};
pub use muster_worker_kit::{Refusal, Trouble};

use super::Assignment;
use access::{Access, Ask};
use bind::Link;
use farewell::Farewell;
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Text;
use outbox::Outbox;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use take::{Done, Unable};

/// What does not change while a worker lives.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What it is called.
    pub name: Text,
    /// How many assignments it executes at once.
    pub slots: u32,
    /// How often it says that it lives (P5).
    pub heartbeat: Millis,
    /// How long a poll may wait at the server (P6).
    pub poll_wait: Millis,
    /// How long what runs may take when the worker leaves.
    pub grace: Millis,
    /// Whether it can log in, or has only been given a token.
    pub can_log_in: bool,
    /// The public half of its key.
    pub key: Text,
    /// The public half of the key that shall replace it, while that is not done.
    pub next_key: Option<Text>,
}

/// The worker's mind.
#[derive(Debug)]
pub struct Core {
    settings: Settings,
    access: Access,
    link: Link,
    beat: Ask,
    resume: Ask,
    poll: Ask,
    /// What was handed out may be unknown here: nothing is polled before that was asked for.
    must_resume: bool,
    /// Answers about what is started that could not be read for their length.
    too_long_in_a_row: u32,
    works: BTreeMap<u64, Held>,
    /// Started at the server, found here by a resume, and without a slot yet.
    waiting: VecDeque<Waiting>,
    outbox: Outbox,
    done: Done,
    /// Whether the spool takes what it is given.
    can_store: bool,
    /// Why nothing is begun for a while, where this machine is not able to.
    unable: Option<Unable>,
    /// Whether the last call was answered.
    is_reachable: bool,
    counts: Counts,
    farewell: Option<Farewell>,
    last_number: u64,
    actions: VecDeque<Action>,
}

/// An assignment in execution.
#[derive(Debug)]
struct Held {
    worker: u64,
    assignment: Arc<Assignment>,
    /// The server has it no longer: it is killed, and nothing is told of it.
    is_dropped: bool,
}

/// An assignment without a slot yet.
#[derive(Debug)]
struct Waiting {
    /// The last number that was given before it came here: what was asked later than that speaks of it.
    since: u64,
    assignment: Arc<Assignment>,
}

impl Core {
    /// A worker that is about to begin; `spooled` is what an earlier life left on disk, the oldest first, and is numbered
    /// 1, 2, 3 … from here on.
    #[must_use]
    pub fn new(settings: Settings, spooled: Vec<Spooled>, now: Timestamp) -> Self {
        let mut core = Self {
            access: Access::new(settings.can_log_in),
            settings,
            link: Link::default(),
            beat: Ask::default(),
            resume: Ask::default(),
            poll: Ask::default(),
            must_resume: true,
            too_long_in_a_row: 0,
            works: BTreeMap::new(),
            waiting: VecDeque::new(),
            last_number: spooled.len() as u64,
            outbox: Outbox::found(spooled),
            done: Done::default(),
            can_store: true,
            unable: None,
            is_reachable: true,
            counts: Counts::default(),
            farewell: None,
            actions: VecDeque::new(),
        };
        core.settle(now);
        core
    }

    /// The next thing to be done outside, if anything is.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Does what is due.
    pub fn wake(&mut self, now: Timestamp) {
        self.settle(now);
    }

    /// When it must be woken, whatever happens until then; nothing while all depends on others.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        let calls = [self.access_at(), self.bind_at(), self.beat_at(), self.resume_at(), self.poll_at()];
        let farewell = self.farewell.as_ref().and_then(|farewell| farewell.next_wake(self.works.is_empty()));
        calls.into_iter().chain([self.submit_at(), self.begin_at(), farewell]).flatten().min()
    }

    /// Why it is over, once nothing of it runs any more.
    #[must_use]
    pub fn over(&self) -> Option<&Over> {
        self.farewell.as_ref().filter(|farewell| farewell.is_said()).map(Farewell::why)
    }

    /// How it is, for people.
    #[must_use]
    pub fn status(&self) -> Status {
        Status {
            worker: self.worker(),
            running: self.works.len(),
            waiting: self.waiting.len(),
            spooled: self.outbox.len(),
            counts: self.counts,
            can_store: self.can_store,
            is_able: self.unable.is_none(),
            reachable: self.is_reachable,
            leaving: self.farewell.is_some(),
        }
    }

    /// Everything that follows from what just happened.
    fn settle(&mut self, now: Timestamp) {
        self.gain_access(now);
        self.bind(now);
        self.submit(now);
        self.send_beat(now);
        self.ask_to_resume(now);
        self.begin_waiting(now);
        self.ask_for_work(now);
        self.take_leave(now);
    }

    /// Whether calls other than those for access make sense.
    fn may_call(&self) -> bool {
        self.access.is_in() && self.farewell.as_ref().is_none_or(Farewell::is_polite)
    }

    /// A number that nothing else has.
    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Takes note of a good answer.
    fn heard(&mut self) {
        self.access.proved();
        if !std::mem::replace(&mut self.is_reachable, true) {
            self.note(Note::Back);
        }
    }

    /// Takes note of a call that found nobody.
    fn unheard(&mut self) {
        if std::mem::replace(&mut self.is_reachable, false) {
            self.note(Note::Away);
        }
    }

    fn note(&mut self, note: Note) {
        self.actions.push_back(Action::Note(note));
    }
}
