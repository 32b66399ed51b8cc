//! S1, S2, S8, S19: the way to the master: registration, heartbeats, what the master says to them, and rebinding.

use super::{
    Action, Beat, Core, FULL, Farewell, Loss, Note, Rebind, Refusal, Registration, STILL, Trouble, UNTOLD,
    work::{Held, Pulls},
};
use muster_contract_simulation::{HeartbeatRequest, HeartbeatResponse, Order};
use muster_model::{Millis, Ratio, Timestamp};
use muster_worker_kit::{Backoff, Text};

/// State of the registration.
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

/// State of rebinding to a master of a newer term.
#[derive(Debug, Default)]
pub(super) struct Rebinding {
    pub(super) is_wanted: bool,
    /// The request under way, and the term that it speaks of.
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

    /// True if a heartbeat is one whose answer matters still.
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

    /// True if so many tries failed that the master must be taken to be gone (S8).
    pub(super) fn is_cut_off(&self) -> bool {
        self.failures() >= TRIES_MAX
    }

    /// True if it went so long without an answer, tries or not, that it must be taken to be lost: it was asleep.
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

/// Refusal that only a person can mend. A worker in quarantine waits for an operator instead (S9).
fn mistake(trouble: &Trouble) -> Option<Refusal> {
    match trouble {
        Trouble::NoAnswer(_) => None,
        Trouble::Unauthorized => {
            Some(Refusal { status: 401, detail: "the enrolment secret is wrong".into() })
        }
        Trouble::Refused(refusal) => Some(refusal.clone()).filter(|refusal| refusal.status != FORBIDDEN),
    }
}

impl Core {
    /// A heartbeat was answered, or was not.
    pub fn beaten(&mut self, number: u64, answer: Result<HeartbeatResponse, Trouble>, now: Timestamp) {
        self.fence(now);
        let Link::Bound(bound) = &mut self.link else { return self.settle(now) };
        if !bound.awaits(number) {
            return self.settle(now);
        }
        match answer {
            Ok(heard) if heard.epoch.is_some_and(|epoch| epoch < self.epoch) => {
                // A master that was replaced and does not know it yet. To be heard by it is no help.
                bound.failed(number);
                self.note(Note::StaleMaster { epoch: heard.epoch.unwrap_or_default() });
            }
            Ok(heard) => {
                bound.answered(number, now);
                self.miss_pause(&heard.commands);
                self.hear(heard, number, now);
            }
            Err(Trouble::NoAnswer(_)) => bound.failed(number),
            Err(Trouble::Unauthorized) => self.lose(Loss::Unknown, now),
            Err(Trouble::Refused(refusal)) => match refusal.status {
                GONE => self.removed(refusal, now),
                NOT_FOUND => self.lose(Loss::Unknown, now),
                _ => bound.failed(number),
            },
        }
        self.settle(now);
    }

    /// A rebind was answered, or was not.
    pub fn rebound(&mut self, number: u64, answer: Result<HeartbeatResponse, Trouble>, now: Timestamp) {
        self.fence(now);
        let Link::Bound(bound) = &mut self.link else { return self.settle(now) };
        let asked = bound.rebind.asking.take_if(|(asked, _)| *asked == number);
        let Some((_, epoch)) = asked else { return self.settle(now) };
        match answer {
            Ok(heard) if heard.epoch.is_some_and(|epoch| epoch < self.epoch) => {
                bound.rebind.next_at = now + REBIND_AGAIN;
            }
            Ok(heard) => {
                bound.epoch = bound.epoch.max(epoch);
                bound.rebind.is_wanted = false;
                self.hear(heard, number, now);
            }
            Err(Trouble::NoAnswer(_)) => bound.rebind.next_at = now + REBIND_AGAIN,
            Err(Trouble::Refused(refusal)) if refusal.status == GONE => self.removed(refusal, now),
            Err(Trouble::Unauthorized | Trouble::Refused(_)) => self.lose(Loss::Unknown, now),
        }
        self.settle(now);
    }

    /// Some answer, to whatever, came from a master of this term.
    pub fn heard_of(&mut self, epoch: u64, now: Timestamp) {
        if epoch <= self.epoch {
            return;
        }
        self.fence(now);
        self.epoch = epoch;
        if let Link::Bound(bound) = &mut self.link {
            bound.rebind.is_wanted = true;
        }
        self.settle(now);
    }

    /// Tells that it lives, when it is time to.
    pub(super) fn beat(&mut self, now: Timestamp) {
        let number = self.last_number + 1;
        let (status, is_silent) = (self.word(), self.farewell.as_ref().is_some_and(Farewell::is_silent));
        let Link::Bound(bound) = &mut self.link else { return };
        if bound.next_beat_at > now || is_silent {
            return;
        }
        bound.sent(number, now);
        self.last_number = number;
        let running = || self.works.values().filter(|held| held.is_running());
        let most = |of: fn(&Held) -> Ratio| running().map(of).max().unwrap_or_default();
        self.actions.push_back(Action::Beat(Beat {
            number,
            request: HeartbeatRequest {
                queue_ratio: most(|held| held.seen.queue),
                gpu_usage: Some(most(|held| held.seen.gpu)),
                last_frame: self.last_frame,
                status: status.into(),
                rtt: bound.rtt,
            },
        }));
    }

    /// Tells a master of a newer term what is held here.
    pub(super) fn rebind(&mut self, now: Timestamp) {
        let number = self.last_number + 1;
        let Link::Bound(bound) = &mut self.link else { return };
        let rebind = &mut bound.rebind;
        if !rebind.is_wanted || rebind.asking.is_some() || rebind.next_at > now {
            return;
        }
        rebind.asking = Some((number, self.epoch));
        self.last_number = number;
        self.actions.push_back(Action::Rebind(Rebind {
            number,
            epoch: self.epoch,
            tasks: self
                .works
                .values()
                .filter(|held| !held.is_ending())
                .map(|held| held.task.clone())
                .collect(),
            last_frame: self.last_frame,
            state: self.state.clone(),
        }));
    }

    /// Does what the master says in the response to a request of this number.
    fn hear(&mut self, heard: HeartbeatResponse, request: u64, now: Timestamp) {
        self.epoch = self.epoch.max(heard.epoch.unwrap_or_default());
        self.allowed = heard.backpressure.map_or(self.allowed, |backpressure| backpressure.factor);
        if let Link::Bound(bound) = &mut self.link {
            bound.rebind.is_wanted |= self.epoch > bound.epoch;
        }
        for order in heard.commands {
            self.obey(order, request, now);
        }
        if let Some(state) = heard.state {
            self.stand(state, now);
        }
    }

    fn obey(&mut self, order: Order, request: u64, now: Timestamp) {
        match order {
            Order::Rebind => {
                if let Link::Bound(bound) = &mut self.link {
                    bound.rebind.is_wanted = true;
                }
            }
            Order::Reregister => self.lose(Loss::Ordered, now),
            Order::Pause => self.pauses = self.pauses.saturating_add(1),
            Order::Resume => self.pauses = 0,
            Order::Stop(task) => self.stop(&task, request),
        }
    }

    /// Ends a pause when a master that repeated `pause` stops doing so: its `resume` may have been lost. A master
    /// that said `pause` only once is taken at its word until it says `resume`.
    fn miss_pause(&mut self, orders: &[Order]) {
        if self.pauses >= REPEATED && !orders.contains(&Order::Pause) {
            self.pauses = 0;
        }
    }

    /// Takes note of where it stands.
    fn stand(&mut self, state: Text, now: Timestamp) {
        match &*state {
            LOST => return self.lose(Loss::Ordered, now),
            QUARANTINED => self.let_go_of_all(),
            ZOMBIE => self.removed(Refusal { status: GONE, detail: REMOVED.into() }, now),
            _ => {}
        }
        if state != self.state {
            self.state = state.clone();
            self.note(Note::State(state));
        }
    }

    /// The master called to say that it removed this worker (S6). Same consequences as a 410.
    pub fn dismissed(&mut self, now: Timestamp) {
        self.fence(now);
        self.removed(Refusal { status: GONE, detail: REMOVED.into() }, now);
        self.settle(now);
    }

    /// Stops everything and leaves: the master removed this worker, and one that keeps calling is a zombie (S6).
    pub(super) fn removed(&mut self, refusal: Refusal, now: Timestamp) {
        self.let_go_of_all();
        self.farewell.get_or_insert_with(|| Farewell::refused(refusal, now));
    }

    /// True if the master keeps it away from work.
    pub(super) fn is_quarantined(&self) -> bool {
        &*self.state == QUARANTINED
    }

    /// Status in one word (S2). Never `error`: failures are reported of the task they happened to.
    fn word(&self) -> &'static str {
        match () {
            () if self.farewell.is_some() => "leaving",
            () if self.works.is_empty() => "idle",
            () if self.pace == STILL => "paused",
            () => "rendering",
        }
    }
}

/// The delays between tries. Short at the most: a master that is back finds its fleet at once.
pub(super) const BACKOFF: Backoff =
    Backoff { delays_ms: &[0, 1_000, 2_000, 4_000], delay_ms_max: 5_000, retry_after_ms_max: 10_000 };
/// S8: heartbeats that fail until a worker gives up.
const TRIES_MAX: usize = 5;
const INTERVAL_MIN: Millis = Millis(50);
const INTERVAL_MAX: Millis = Millis(60_000);
const FORBIDDEN: u16 = 403;
/// Pause of a refused worker before it tries again: somebody must do something first.
const REFUSED_FOR: Millis = Millis(10_000);
/// A registration that holds for so long is not one of two that fight.
const STEADY: Millis = Millis(30_000);
const LOST: &str = "Lost";
const QUARANTINED: &str = "Quarantined";
const ZOMBIE: &str = "zombie";
const NOT_FOUND: u16 = 404;
/// S6: the answer to every call of a removed worker, except a heartbeat.
pub(super) const GONE: u16 = 410;
const REMOVED: &str = "the worker was removed";
const REPEATED: u32 = 2;
const REBIND_AGAIN: Millis = Millis(1_000);

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
