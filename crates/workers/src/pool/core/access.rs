//! P1: how a worker gets in, and stays in.

use super::{Action, Core, Note, Over, Refusal, Trouble};
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Backoff;

/// Access to the server.
#[derive(Debug)]
pub(super) struct Access {
    state: State,
    ask: Ask,
    /// Counts the tokens: an answer to a call that was made with an earlier one says nothing about this one.
    generation: u64,
    /// Tokens in a row with which no call went well.
    in_vain: u32,
    can_log_in: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Out,
    In {
        renew_at: Option<Timestamp>,
    },
    /// There is a token, which may still be exchanged for a new one. No call is made until that is settled: the old
    /// one ends with the exchange.
    Stale {
        /// No call was told yet that it is invalid.
        is_good: bool,
    },
}

impl Access {
    pub(super) fn new(can_log_in: bool) -> Self {
        let state = if can_log_in { State::Out } else { State::In { renew_at: None } };
        Self { state, ask: Ask::default(), generation: 0, in_vain: 0, can_log_in }
    }

    pub(super) const fn is_in(&self) -> bool {
        matches!(self.state, State::In { .. })
    }

    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    /// A call was understood: the token is good.
    pub(super) fn proved(&mut self) {
        self.in_vain = 0;
    }

    fn enter(&mut self, lasts: Option<Millis>, now: Timestamp) {
        self.generation += 1;
        self.in_vain = self.in_vain.saturating_add(1);
        // Early enough for a few tries before it ends.
        let renew_at = lasts.map(|lasts| now + Millis(lasts.0.max(LASTS_MIN.0) / 3 * 2));
        self.state = State::In { renew_at };
        self.ask.again_at(now);
    }

    /// The exchange came to nothing for now; the token may be good all the same. If it is not, the next call is told so.
    fn go_on(&mut self, now: Timestamp) {
        let renew_at = self.ask.ready_at().map(|at| at.max(now + RENEW_AGAIN));
        self.state = State::In { renew_at };
    }
}

impl Core {
    /// A login or a renewal was answered, or was not; `lasts` is how long the new token does.
    pub fn admitted(&mut self, number: u64, answer: Result<Option<Millis>, Trouble>, now: Timestamp) {
        if self.access.ask.take(number).is_none() {
            return self.settle(now);
        }
        let was_out = self.access.state == State::Out;
        match answer {
            Ok(lasts) => {
                self.access.enter(lasts, now);
                // A token proves nothing yet: only that somebody is there.
                if !std::mem::replace(&mut self.is_reachable, true) {
                    self.note(Note::Back);
                }
            }
            Err(Trouble::NoAnswer(asked)) => {
                self.access.ask.put_off(asked, now);
                match self.access.state {
                    State::Stale { is_good: true } => self.access.go_on(now),
                    _ => self.unheard(),
                }
            }
            Err(Trouble::Unauthorized) if was_out => self.refuse(Over::NotAdmitted(unauthorized()), now),
            Err(Trouble::Refused(refusal)) if was_out => self.refuse(Over::NotAdmitted(refusal), now),
            // The token is over, or its exchange was answered and that answer is lost.
            Err(Trouble::Unauthorized | Trouble::Refused(_)) => {
                self.access.state = State::Out;
                self.access.ask.again_at(now);
            }
        }
        self.settle(now);
    }

    /// A call was told that its token is none.
    pub(super) fn turned_away(&mut self, sent: Sent, now: Timestamp) {
        if sent.generation != self.access.generation || !self.access.is_in() {
            return;
        }
        if !self.access.can_log_in {
            return self.refuse(Over::NotAdmitted(unauthorized()), now);
        }
        self.access.state = State::Stale { is_good: false };
        self.access.ask.again_at(now + BACKOFF.delay(self.access.in_vain.saturating_sub(1)));
    }

    /// When something must be done for access.
    pub(super) fn access_at(&self) -> Option<Timestamp> {
        if self.farewell.as_ref().is_some_and(|farewell| !farewell.is_polite()) {
            return None;
        }
        match self.access.state {
            State::Out | State::Stale { .. } => self.access.ask.ready_at(),
            State::In { renew_at } => renew_at.filter(|_| self.access.can_log_in),
        }
    }

    pub(super) fn gain_access(&mut self, now: Timestamp) {
        if self.access_at().is_none_or(|at| now < at) {
            return;
        }
        if self.access.is_in() {
            self.access.state = State::Stale { is_good: true };
        }
        let sent = self.next_call(now);
        let number = sent.number;
        self.access.ask.leave(sent);
        let is_out = self.access.state == State::Out;
        self.actions.push_back(if is_out { Action::LogIn(number) } else { Action::Renew(number) });
    }
}

fn unauthorized() -> Refusal {
    Refusal { status: 401, detail: "unauthorized".into() }
}

/// When a call was made last, and when it is made next.
#[derive(Debug, Default)]
pub(super) struct Ask {
    on_its_way: Option<Sent>,
    tries: u32,
    next_at: Timestamp,
}

/// A call on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) number: u64,
    pub(super) at: Timestamp,
    /// The access it was made with.
    pub(super) generation: u64,
}

impl Ask {
    /// When the next one may leave; nothing while one is on its way.
    pub(super) fn ready_at(&self) -> Option<Timestamp> {
        self.on_its_way.is_none().then_some(self.next_at)
    }

    pub(super) const fn is_on_its_way(&self) -> bool {
        self.on_its_way.is_some()
    }

    pub(super) fn leave(&mut self, sent: Sent) {
        self.on_its_way = Some(sent);
    }

    /// Takes the call back that an answer belongs to; nothing where nobody waits for that answer any more.
    pub(super) fn take(&mut self, number: u64) -> Option<Sent> {
        self.on_its_way.take_if(|sent| sent.number == number)
    }

    /// Waits no longer for the call on its way, if one is.
    pub(super) fn abandon(&mut self) -> Option<Sent> {
        self.on_its_way.take()
    }

    /// It went well: the next leaves then.
    pub(super) fn again_at(&mut self, at: Timestamp) {
        (self.tries, self.next_at) = (0, at);
    }

    /// It found nobody: the next leaves after a while, and not before the server wants to be asked.
    pub(super) fn put_off(&mut self, asked: Option<Millis>, now: Timestamp) {
        self.tries = self.tries.saturating_add(1);
        self.next_at = now + BACKOFF.patience(self.tries, asked);
    }
}

/// The delays between tries of one call.
pub(super) const BACKOFF: Backoff = Backoff {
    delays_ms: &[0, 500, 1_000, 2_000, 4_000, 8_000],
    delay_ms_max: 10_000,
    retry_after_ms_max: 300_000,
};

/// A token that lasts less is renewed as if it lasted so long; otherwise there would be no end of renewing.
const LASTS_MIN: Millis = Millis(3_000);
/// Calls wait while a token is exchanged: between two tries there must be time for some.
const RENEW_AGAIN: Millis = Millis(10_000);
