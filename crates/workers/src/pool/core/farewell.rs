//! P16: how a worker leaves.

use super::{Action, Core, Note, Over, Refusal, Trouble, access::Sent};
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Text;

/// A worker that will take nothing more.
#[derive(Debug)]
pub(super) struct Farewell {
    why: Over,
    /// What runs then is ended.
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

    pub(super) const fn why(&self) -> &Over {
        &self.why
    }

    pub(super) const fn is_said(&self) -> bool {
        self.is_said
    }

    /// Whether the server is still called: not where it will have none of the worker.
    pub(super) fn is_polite(&self) -> bool {
        self.why == Over::Left
    }

    /// Whether there is time, and anybody, for what a call that was on its way still brings.
    pub(super) fn may_begin(&self, now: Timestamp) -> bool {
        self.is_polite() && now < self.kill_at
    }

    pub(super) fn next_wake(&self, is_idle: bool) -> Option<Timestamp> {
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
    pub(super) fn refuse(&mut self, why: Over, now: Timestamp) {
        if self.farewell.as_ref().is_none_or(Farewell::is_polite) {
            self.farewell = Some(Farewell::new(why, now));
            self.must_resume = false;
            self.waiting.clear();
        }
    }

    /// Takes the next step of leaving.
    pub(super) fn take_leave(&mut self, now: Timestamp) {
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

impl Core {
    /// A heartbeat was answered, with when the server last heard of the worker, or was not.
    pub fn beaten(&mut self, number: u64, answer: Result<Option<Text>, Trouble>, now: Timestamp) {
        let Some(sent) = self.beat.take(number) else { return self.settle(now) };
        match answer {
            Ok(_) => {
                self.heard();
                self.beat.again_at(sent.at + self.settings.heartbeat);
            }
            Err(trouble) => {
                if let Some(asked) = self.judge((trouble, sent), now) {
                    self.beat.put_off(asked, now);
                }
            }
        }
        self.settle(now);
    }

    pub(super) fn beat_at(&self) -> Option<Timestamp> {
        self.beat.ready_at().filter(|_| self.may_call() && self.worker().is_some())
    }

    pub(super) fn send_beat(&mut self, now: Timestamp) {
        let Some(worker) = self.worker().filter(|_| self.beat_at().is_some_and(|at| at <= now)) else {
            return;
        };
        let number = self.number();
        self.beat.leave(Sent { number, at: now, generation: self.access.generation() });
        self.actions.push_back(Action::Beat { number, worker });
    }

    /// What to think of a call about the worker that came to nothing; gives how long the server wants to be left alone,
    /// where it is to be made again after a while, and nothing where it is made again at once or never.
    pub(super) fn judge(
        &mut self,
        (trouble, sent): (Trouble, Sent),
        now: Timestamp,
    ) -> Option<Option<Millis>> {
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

/// Whether the server will have none of this worker: not of this user, or not of this worker. A page of somebody on the
/// way says neither.
pub(super) fn is_final(refusal: &Refusal) -> bool {
    matches!((refusal.status, &*refusal.detail), (403, INSUFFICIENT_ROLE) | (404, WORKER_NOT_FOUND))
}

/// How long programs may take to end, and results to be handed in, after the grace.
const PATIENCE: Millis = Millis(5_000);
const INSUFFICIENT_ROLE: &str = "Insufficient role";
const WORKER_NOT_FOUND: &str = "Worker not found";
