//! P5: signs of life, which also keep what is held here from being given to others.

use super::{Action, Core, Note, Over, Refusal, Trouble, ask::Sent};
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Text;

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

const INSUFFICIENT_ROLE: &str = "Insufficient role";
const WORKER_NOT_FOUND: &str = "Worker not found";
