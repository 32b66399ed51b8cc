//! S2, S19: heartbeats, what the master says to them, and rebinding to a new master.

use super::{
    Action, Beat, Core, Loss, Note, Rebind, Refusal, STILL, Trouble, farewell::Farewell, link::Link,
    work::Held,
};
use muster_contract_simulation::{HeartbeatRequest, HeartbeatResponse, Order};
use muster_model::{Millis, Ratio, Timestamp};
use muster_worker_kit::Text;

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
                self.hear(heard, now);
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
                self.hear(heard, now);
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

    /// Does what the master says.
    fn hear(&mut self, heard: HeartbeatResponse, now: Timestamp) {
        self.epoch = self.epoch.max(heard.epoch.unwrap_or_default());
        self.allowed = heard.backpressure.map_or(self.allowed, |backpressure| backpressure.factor);
        if let Link::Bound(bound) = &mut self.link {
            bound.rebind.is_wanted |= self.epoch > bound.epoch;
        }
        for order in heard.commands {
            self.obey(order, now);
        }
        if let Some(state) = heard.state {
            self.stand(state, now);
        }
    }

    fn obey(&mut self, order: Order, now: Timestamp) {
        match order {
            Order::Rebind => {
                if let Link::Bound(bound) = &mut self.link {
                    bound.rebind.is_wanted = true;
                }
            }
            Order::Reregister => self.lose(Loss::Ordered, now),
            Order::Pause => self.pauses = self.pauses.saturating_add(1),
            Order::Resume => self.pauses = 0,
            Order::Stop(task) => self.stop(&task),
        }
    }

    /// A master that said `pause` again and again and says it no more has resumed: its word for that may have been lost.
    /// One that says it once is taken at its word until it says `resume`.
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

    /// Whether the master keeps it away from work.
    pub(super) fn is_quarantined(&self) -> bool {
        &*self.state == QUARANTINED
    }

    /// How it is, in a word (S2). Never `error`: whatever goes wrong is told of the task it happened to.
    fn word(&self) -> &'static str {
        match () {
            () if self.farewell.is_some() => "leaving",
            () if self.works.is_empty() => "idle",
            () if self.pace == STILL => "paused",
            () => "rendering",
        }
    }
}

const LOST: &str = "Lost";
const QUARANTINED: &str = "Quarantined";
const ZOMBIE: &str = "zombie";
const NOT_FOUND: u16 = 404;
/// S6: the answer to every call of a removed worker, except a heartbeat.
pub(super) const GONE: u16 = 410;
const REMOVED: &str = "the worker was removed";
const REPEATED: u32 = 2;
const REBIND_AGAIN: Millis = Millis(1_000);
