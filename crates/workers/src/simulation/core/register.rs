//! S1, S8: how a worker becomes known to its master, and what it does when it no longer is.

use super::{
    Action, Core, FULL, Loss, Note, Refusal, Registration, Trouble, UNTOLD,
    farewell::Farewell,
    link::{Away, BACKOFF, Bound, Link},
    take::Pulls,
};
use muster_model::{Millis, Timestamp};

impl Core {
    /// A registration was answered.
    pub fn registered(&mut self, number: u64, answer: Result<Registration, Trouble>, now: Timestamp) {
        let Link::Away(away) = &mut self.link else { return };
        if away.asking.take_if(|asked| *asked == number).is_none() {
            return;
        }
        match answer {
            Ok(registration) if registration.epoch < self.epoch => {
                away.next_at = now + REFUSED_FOR;
                self.note(Note::StaleMaster { epoch: registration.epoch });
            }
            Ok(registration) => self.bind(registration, now),
            Err(trouble) => self.not_registered(trouble, now),
        }
        self.settle(now);
    }

    /// Registers, when it is time to.
    pub(super) fn register(&mut self, now: Timestamp) {
        let is_leaving = self.farewell.is_some();
        let number = self.last_number + 1;
        let Link::Away(away) = &mut self.link else { return };
        if is_leaving || away.asking.is_some() || away.next_at > now {
            return;
        }
        away.asking = Some(number);
        self.last_number = number;
        self.actions.push_back(Action::Register(number));
    }

    /// Stops all that is held, forgets what is on its way, and registers anew.
    pub(super) fn lose(&mut self, loss: Loss, now: Timestamp) {
        let Link::Bound(bound) = &self.link else { return };
        // Two workers with one name take it from each other: they must not do so all the time.
        let is_fight = matches!(loss, Loss::Unknown | Loss::Ordered) && now - bound.since < STEADY;
        let tries = if is_fight { bound.tries.saturating_add(1) } else { 0 };
        let next_at = now + BACKOFF.patience(tries, None);
        self.link = Link::Away(Away { tries, next_at, asking: None });
        self.pulls = Pulls::default();
        self.let_go_of_all();
        self.note(Note::Lost(loss));
    }

    /// Notices that the master must have given this worker up.
    pub(super) fn fence(&mut self, now: Timestamp) {
        let Link::Bound(bound) = &mut self.link else { return };
        bound.fail_late(now);
        if bound.is_cut_off() {
            self.lose(Loss::Unreachable, now);
        } else if bound.is_stalled(now) {
            self.lose(Loss::Stalled, now);
        }
    }

    fn bind(&mut self, registration: Registration, now: Timestamp) {
        let Link::Away(away) = &self.link else { return };
        let tries = away.tries;
        let mut bound = Bound::new(registration.interval, registration.epoch, now);
        bound.tries = tries;
        self.link = Link::Bound(bound);
        self.was_registered = true;
        self.epoch = registration.epoch;
        self.state = UNTOLD.into();
        (self.allowed, self.pauses) = (FULL, 0);
        self.pulls.next_at = now;
        self.note(Note::Registered { epoch: registration.epoch });
    }

    fn not_registered(&mut self, trouble: Trouble, now: Timestamp) {
        let Link::Away(away) = &mut self.link else { return };
        away.tries = away.tries.saturating_add(1);
        away.next_at = match &trouble {
            Trouble::NoAnswer(asked) => now + BACKOFF.patience(away.tries, *asked),
            Trouble::Unauthorized | Trouble::Refused(_) => now + REFUSED_FOR,
        };
        match mistake(&trouble).filter(|_| !self.was_registered) {
            Some(refusal) => self.farewell = Some(Farewell::refused(refusal, now)),
            None => self.note(Note::NotRegistered(trouble)),
        }
    }
}

/// What whoever started the worker must mend. One in quarantine waits for an operator instead (S9).
fn mistake(trouble: &Trouble) -> Option<Refusal> {
    match trouble {
        Trouble::NoAnswer(_) => None,
        Trouble::Unauthorized => {
            Some(Refusal { status: 401, detail: "the enrolment secret is wrong".into() })
        }
        Trouble::Refused(refusal) => Some(refusal.clone()).filter(|refusal| refusal.status != QUARANTINED),
    }
}

const QUARANTINED: u16 = 403;
/// How long a worker that is refused waits before it tries again: somebody must do something first.
const REFUSED_FOR: Millis = Millis(10_000);
/// A registration that holds for so long is not one of two that fight.
const STEADY: Millis = Millis(30_000);
