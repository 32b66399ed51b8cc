//! The worker's mind: access, who it is, heartbeats, slots, results. It has no clock, no disk and no network.
//!
//! Its driver tells it what happened (the methods below), takes what it wants done from [`Core::next_action`],
//! and wakes it at [`Core::next_wake`]. It never sees a secret: passwords, tokens and keys are the driver's business.
//!
//! Its promises (P16): a result leaves only when it is on disk, and stays there until the server has it or will never
//! take it; no assignment is executed twice at the same time, nor again once its result is on disk; never more are
//! executed at once than there are slots.

mod access;
mod action;
mod bind;
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
use access::{Access, Ask, Sent};
use bind::Link;
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Text;
use outbox::Outbox;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};
use take::{Done, Unable};

/// Settings of a worker.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name.
    pub name: Text,
    /// Number of assignments that it executes at once.
    pub slots: u32,
    /// Interval of heartbeats (P5).
    pub heartbeat: Millis,
    /// Time that a poll may wait at the server (P6).
    pub poll_wait: Millis,
    /// Time that running work gets when the worker leaves.
    pub grace: Millis,
    /// True if it can log in, or has only been given a token.
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
    /// Started assignments may be unknown here: nothing is polled before they were asked for.
    must_resume: bool,
    /// Answers about what is started that could not be read for their length.
    too_long_in_a_row: u32,
    works: BTreeMap<u64, Execution>,
    /// Started at the server, found here by a resume, and without a slot yet.
    waiting: VecDeque<Waiting>,
    outbox: Outbox,
    /// Results leave one by one until then: the server refused a batch (P20).
    batches_at: Timestamp,
    done: Done,
    /// True if the spool takes what it is given.
    can_store: bool,
    /// Pause after this machine could not begin its work.
    unable: Option<Unable>,
    /// True if the last call was answered.
    is_reachable: bool,
    counts: Counts,
    farewell: Option<Farewell>,
    last_number: u64,
    actions: VecDeque<Action>,
}

/// An assignment in execution.
#[derive(Debug)]
struct Execution {
    work: Work,
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
            batches_at: now,
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

    /// Reason of the end, once nothing of the worker runs any more.
    #[must_use]
    pub fn over(&self) -> Option<&Over> {
        self.farewell.as_ref().filter(|farewell| farewell.is_said()).map(Farewell::why)
    }

    /// Status, for people.
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

    /// True if calls other than those for access make sense.
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

    /// Numbers a call that leaves now.
    fn next_call(&mut self, now: Timestamp) -> Sent {
        Sent { number: self.number(), at: now, generation: self.access.generation() }
    }

    /// A heartbeat was answered, with when the server last heard of the worker, or was not.
    pub fn beaten(&mut self, number: u64, answer: Result<Option<Text>, Trouble>, now: Timestamp) {
        let Some(sent) = self.beat.take(number) else { return self.settle(now) };
        match answer {
            Ok(_) => {
                self.heard();
                self.beat.again_at(sent.at + self.settings.heartbeat);
            }
            Err(trouble) => {
                if let Some(asked) = self.judge(sent, trouble, now) {
                    self.beat.put_off(asked, now);
                }
            }
        }
        self.settle(now);
    }

    fn beat_at(&self) -> Option<Timestamp> {
        self.beat.ready_at().filter(|_| self.may_call() && self.worker().is_some())
    }

    fn send_beat(&mut self, now: Timestamp) {
        let Some(worker) = self.worker().filter(|_| self.beat_at().is_some_and(|at| at <= now)) else {
            return;
        };
        let sent = self.next_call(now);
        self.beat.leave(sent);
        self.actions.push_back(Action::Beat { number: sent.number, worker });
    }

    /// Judges a failed call about the worker; returns the pause that the server asks for,
    /// where it is to be made again after a while, and nothing where it is made again at once or never.
    fn judge(&mut self, sent: Sent, trouble: Trouble, now: Timestamp) -> Option<Option<Millis>> {
        match trouble {
            Trouble::NoAnswer(asked) => {
                self.unheard();
                Some(asked)
            }
            Trouble::Unauthorized => {
                self.turned_away(sent, now);
                None
            }
            Trouble::Refused(refusal) if is_final(&refusal) => {
                self.refuse(Over::Refused(refusal), now);
                None
            }
            Trouble::Refused(refusal) => {
                self.note(Note::Refused(refusal));
                Some(None)
            }
        }
    }
}

/// A worker that will take nothing more.
#[derive(Debug)]
struct Farewell {
    why: Over,
    /// Time at which running work is ended.
    kill_at: Timestamp,
    /// After this nothing is waited for any more.
    until: Timestamp,
    is_killed: bool,
    is_said: bool,
}

impl Farewell {
    fn new(why: Over, kill_at: Timestamp) -> Self {
        Self { why, kill_at, until: kill_at + PATIENCE, is_killed: false, is_said: false }
    }

    const fn why(&self) -> &Over {
        &self.why
    }

    const fn is_said(&self) -> bool {
        self.is_said
    }

    /// True if the server is still called: not where it will have none of the worker.
    fn is_polite(&self) -> bool {
        self.why == Over::Left
    }

    /// True if there is time, and anybody, for what a call that was on its way still brings.
    fn may_begin(&self, now: Timestamp) -> bool {
        self.is_polite() && now < self.kill_at
    }

    fn next_wake(&self, is_idle: bool) -> Option<Timestamp> {
        let next = if self.is_killed || is_idle { self.until } else { self.kill_at };
        (!self.is_said).then_some(next)
    }
}

impl Core {
    /// Nothing new from now on: what runs may end by itself for a while, results are handed in; see [`Core::over`].
    pub fn leave(&mut self, now: Timestamp) {
        if self.farewell.is_none() {
            self.farewell = Some(Farewell::new(Over::Left, now + self.settings.grace));
            self.waiting.clear();
            self.take_back_poll(now);
        }
        self.settle(now);
    }

    /// Ends everything: it cannot go on.
    fn refuse(&mut self, why: Over, now: Timestamp) {
        if self.farewell.as_ref().is_none_or(Farewell::is_polite) {
            self.farewell = Some(Farewell::new(why, now));
            self.must_resume = false;
            self.waiting.clear();
        }
    }

    /// Takes the next step of leaving.
    fn take_leave(&mut self, now: Timestamp) {
        let is_idle = self.works.is_empty();
        let is_settled = self.outbox.is_empty() && !self.must_resume && !self.resume.is_on_its_way();
        let Some(farewell) = &mut self.farewell else { return };
        if !farewell.is_killed && farewell.kill_at <= now {
            farewell.is_killed = true;
            self.must_resume = false;
            self.actions.extend(self.works.keys().map(|work| Action::Kill(*work)));
        }
        let is_done = is_idle && (is_settled || !farewell.is_polite());
        farewell.is_said |= is_done || farewell.until <= now;
    }
}

/// True if the server will have none of this worker: not of this user, or not of this worker. A page of somebody on the
/// way says neither.
fn is_final(refusal: &Refusal) -> bool {
    matches!((refusal.status, &*refusal.detail), (403, INSUFFICIENT_ROLE) | (404, WORKER_NOT_FOUND))
}

/// Time for programs to end and results to be handed in, after the grace.
const PATIENCE: Millis = Millis(5_000);
const INSUFFICIENT_ROLE: &str = "Insufficient role";
const WORKER_NOT_FOUND: &str = "Worker not found";
