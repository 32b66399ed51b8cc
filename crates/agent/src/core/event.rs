//! Events of the agent (N9 to N14): how they leave, and what becomes of them.

use super::{
    Core,
    action::{Action, Answer},
    outbox::{self, Left},
};
use muster_contract_nodes::{Event, EventKind};
use muster_model::{Millis, Timestamp};

impl Core {
    /// What became of an event that was sent.
    pub fn sent(&mut self, number: u64, answer: Answer, now: Timestamp) {
        match answer {
            Answer::Taken => {
                if self.answered(number, now).is_some() {
                    self.actions.push_back(Action::Ack(number));
                }
            }
            Answer::Refused(refusal) => {
                if let Some(left) = self.answered(number, now) {
                    if let Some((task, attempt)) = left.task {
                        self.give_up(&task, attempt, outbox::words(&refusal));
                    }
                    self.actions.push_back(Action::SetAside(number, refusal));
                }
            }
            Answer::Later(retry_after) => self.put_off(number, Some(retry_after), now),
            Answer::None => self.put_off(number, None, now),
        }
        self.settle(now);
    }

    /// Writes down what became true; it leaves once it is on disk.
    pub(super) fn report(&mut self, kind: EventKind, now: Timestamp) -> u64 {
        self.last_event += 1;
        let number = self.last_event;
        let event = Event { id: format!("{}/{number}", self.spool_id).into(), at: now, kind };
        self.books.apply(number, &event);
        self.outbox.push(number, &event, false);
        self.actions.push_back(Action::Append(number, Box::new(event)));
        number
    }

    /// Sends what may leave.
    pub(super) fn pump(&mut self, now: Timestamp) {
        if self.link.opens_at() > now {
            return;
        }
        for number in self.outbox.choose(self.sends_at_once(), now) {
            self.actions.push_back(Action::Send(number));
        }
    }

    /// While nobody answers, one event at a time is enough to find out.
    pub(super) const fn sends_at_once(&self) -> usize {
        if self.link.is_in_doubt() { 1 } else { self.settings.sends }
    }

    fn answered(&mut self, number: u64, now: Timestamp) -> Option<Left> {
        let left = self.outbox.remove(number)?;
        self.books.closing_taken(number, now);
        self.link.answered(self.outbox.newest().unwrap_or(0));
        self.link.drained_to(self.outbox.oldest_expected());
        Some(left)
    }

    fn put_off(&mut self, number: u64, answered: Option<Option<Millis>>, now: Timestamp) {
        // Whoever is not reached by pulls either is away, whatever is said in its place: that is not the event's fault.
        let is_put_off = answered.is_some() && self.pulls.is_reachable();
        if let Some(sent_at) = self.outbox.failed(number, is_put_off, now) {
            self.link.failed(sent_at, answered.flatten(), now);
            self.link.drained_to(self.outbox.oldest_expected());
        }
    }
}
