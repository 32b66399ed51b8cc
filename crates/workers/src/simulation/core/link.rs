//! What a worker knows of its way to the master (S1, S2, S8).

use super::{
    Action, Core, FULL, Loss, Note, Refusal, Registration, Trouble, UNTOLD, farewell::Farewell, take::Pulls,
};
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Backoff;

/// Whether the master knows this worker.
#[derive(Debug)]
pub(super) enum Link {
    Away(Away),
    Bound(Bound),
}

/// Not registered.
#[derive(Debug, Default)]
pub(super) struct Away {
    /// Registrations in a row that came to nothing, or did not hold.
    pub(super) tries: u32,
    pub(super) next_at: Timestamp,
    /// The registration on its way.
    pub(super) asking: Option<u64>,
}

/// Registered.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) since: Timestamp,
    pub(super) interval: Millis,
    /// The term that it registered or rebound in.
    pub(super) epoch: u64,
    /// [`Away::tries`] when it registered.
    pub(super) tries: u32,
    pub(super) next_beat_at: Timestamp,
    pub(super) rtt: Option<Millis>,
    pub(super) rebind: Rebinding,
    /// When the last heartbeat left that was answered, or when it registered.
    heard_at: Timestamp,
    /// Heartbeats that left after it.
    unanswered: Vec<Try>,
}

/// What is to be told to a master of a newer term.
#[derive(Debug, Default)]
pub(super) struct Rebinding {
    pub(super) is_wanted: bool,
    /// What is on its way, and the term it speaks of.
    pub(super) asking: Option<(u64, u64)>,
    pub(super) next_at: Timestamp,
}

#[derive(Debug)]
struct Try {
    number: u64,
    sent_at: Timestamp,
    has_failed: bool,
}

impl Bound {
    /// Registered now.
    pub(super) fn new(interval: Millis, epoch: u64, now: Timestamp) -> Self {
        Self {
            since: now,
            interval: interval.clamp(INTERVAL_MIN, INTERVAL_MAX),
            epoch,
            tries: 0,
            next_beat_at: now,
            rtt: None,
            rebind: Rebinding::default(),
            heard_at: now,
            unanswered: Vec::new(),
        }
    }

    /// A heartbeat leaves. After a pause there is one, not all that were missed.
    pub(super) fn sent(&mut self, number: u64, now: Timestamp) {
        self.unanswered.push(Try { number, sent_at: now, has_failed: false });
        let next = self.next_beat_at + self.interval;
        self.next_beat_at = if next > now { next } else { now + self.interval };
    }

    /// Whether a heartbeat is one whose answer matters still.
    pub(super) fn awaits(&self, number: u64) -> bool {
        self.unanswered.iter().any(|attempt| attempt.number == number)
    }

    /// A heartbeat was answered: whatever left before it does not matter any more.
    pub(super) fn answered(&mut self, number: u64, now: Timestamp) {
        if let Some(attempt) = self.unanswered.iter().find(|attempt| attempt.number == number) {
            self.heard_at = attempt.sent_at;
            self.rtt = Some(now - attempt.sent_at);
        }
        self.unanswered.retain(|attempt| attempt.number > number);
    }

    /// A heartbeat came to nothing.
    pub(super) fn failed(&mut self, number: u64) {
        let tries = self.unanswered.iter_mut().filter(|attempt| attempt.number == number);
        tries.for_each(|attempt| attempt.has_failed = true);
    }

    /// A heartbeat that is not answered when the next is due counts as failed; a late answer makes up for it.
    pub(super) fn fail_late(&mut self, now: Timestamp) {
        let late = self.unanswered.iter_mut().filter(|attempt| attempt.sent_at + self.interval <= now);
        late.for_each(|attempt| attempt.has_failed = true);
    }

    /// Whether so many tries failed that the master must be taken to be gone (S8).
    pub(super) fn is_cut_off(&self) -> bool {
        self.failures() >= TRIES_MAX
    }

    /// Whether it went so long without an answer, tries or not, that it must be taken to be lost: it was asleep.
    pub(super) fn is_stalled(&self, now: Timestamp) -> bool {
        (now - self.heard_at).0 > self.interval.0 * (TRIES_MAX as i64 + 1)
    }

    pub(super) fn is_reachable(&self) -> bool {
        self.failures() == 0
    }

    /// When something must be looked at.
    pub(super) fn next_wake(&self) -> Timestamp {
        let pending = self.unanswered.iter().filter(|attempt| !attempt.has_failed);
        let late = pending.map(|attempt| attempt.sent_at + self.interval);
        let rebind = self.rebind.is_wanted && self.rebind.asking.is_none();
        let rebind = rebind.then_some(self.rebind.next_at);
        late.chain(rebind).fold(self.next_beat_at, Timestamp::min)
    }

    fn failures(&self) -> usize {
        self.unanswered.iter().filter(|attempt| attempt.has_failed).count()
    }
}

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

/// The delays between tries. Short at the most: a master that is back finds its fleet at once.
pub(super) const BACKOFF: Backoff =
    Backoff { delays_ms: &[0, 1_000, 2_000, 4_000], delay_ms_max: 5_000, retry_after_ms_max: 10_000 };
/// S8: heartbeats that fail until a worker gives up.
const TRIES_MAX: usize = 5;
const INTERVAL_MIN: Millis = Millis(50);
const INTERVAL_MAX: Millis = Millis(60_000);
const QUARANTINED: u16 = 403;
/// How long a worker that is refused waits before it tries again: somebody must do something first.
const REFUSED_FOR: Millis = Millis(10_000);
/// A registration that holds for so long is not one of two that fight.
const STEADY: Millis = Millis(30_000);

#[cfg(test)]
mod tests {
    use super::*;

    fn bound() -> Bound {
        Bound::new(Millis(1_000), 1, Timestamp(0))
    }

    /// S8: five tries at 1 s, however they fail; one answer, even a late one, and all is well.
    #[test]
    fn five_failed_tries_are_the_end() {
        let mut bound = bound();
        for number in 1..=5 {
            assert!(!bound.is_cut_off());
            let now = bound.next_beat_at;
            bound.sent(number, now);
            bound.fail_late(now + Millis(999));
            assert!(!bound.is_cut_off(), "the last may still be answered");
            if number % 2 == 0 {
                bound.failed(number);
            }
            bound.fail_late(now + Millis(1_000));
        }
        assert_eq!(bound.next_beat_at, Timestamp(5_000));
        assert!(bound.is_cut_off() && !bound.is_reachable());
        bound.answered(2, Timestamp(5_000));
        assert!(!bound.is_cut_off(), "three are left");
        assert_eq!(bound.rtt, Some(Millis(4_000)));
        bound.answered(5, Timestamp(5_100));
        assert!(bound.is_reachable());
        bound.failed(5);
        assert!(bound.is_reachable(), "nobody is waiting for it any more");
    }

    /// S8: whoever slept does not catch up on heartbeats, and knows that it was given up.
    #[test]
    fn sleep_is_noticed() {
        let mut bound = bound();
        bound.sent(1, Timestamp(0));
        bound.answered(1, Timestamp(10));
        assert!(!bound.is_stalled(Timestamp(6_000)));
        assert!(bound.is_stalled(Timestamp(6_001)));
        bound.sent(2, Timestamp(60_000));
        assert_eq!(bound.next_beat_at, Timestamp(61_000));
    }
}
