//! P16: what becomes of an assignment that was executed, until its result is on disk.

use super::{Action, Core, End, Held, Note, Outcome, Submission, Waiting, ask::BACKOFF, outbox::Entry};
use muster_model::Timestamp;
use muster_worker_kit::Text;

/// This machine could not begin what it was given.
#[derive(Debug)]
pub(super) struct Unable {
    /// Tries in a row that came to nothing.
    tries: u32,
    /// Nothing is begun before.
    pub(super) until: Timestamp,
}

impl Core {
    /// Nothing of a work runs any more.
    pub fn ended(&mut self, work: u64, end: End, now: Timestamp) {
        let Some(held) = self.works.remove(&work) else { return self.settle(now) };
        match end {
            // Of what the server has no longer it would take nothing.
            _ if held.is_dropped => {}
            End::Done(outcome) => {
                self.unable = None;
                let (assignment, nonce) = (held.assignment.id, held.assignment.nonce.clone());
                self.store(held.worker, (assignment, nonce), outcome);
            }
            End::Stopped => {}
            End::Unable(why) => self.put_back((work, held), why, now),
        }
        self.settle(now);
    }

    /// Keeps an assignment that this machine could not begin, for another try; until then nothing is begun or taken.
    fn put_back(&mut self, (work, held): (u64, Held), why: Text, now: Timestamp) {
        let tries = self.unable.as_ref().map_or(0, |unable| unable.tries).saturating_add(1);
        self.unable = Some(Unable { tries, until: now + BACKOFF.delay(tries) });
        self.note(Note::Unable { assignment: held.assignment.id, why });
        // Whoever comes next under this name finds it again.
        if self.farewell.is_none() {
            self.waiting.push_front(Waiting { since: work, assignment: held.assignment });
        }
    }

    /// A result is on disk, for good.
    pub fn stored(&mut self, entry: u64, now: Timestamp) {
        self.can_store = true;
        self.outbox.stored(entry);
        self.settle(now);
    }

    /// The spool could not be written. Nothing is begun until it can.
    pub fn spool_failed(&mut self, now: Timestamp) {
        self.can_store = false;
        self.settle(now);
    }

    /// The spool can be written again.
    pub fn spool_mended(&mut self, now: Timestamp) {
        self.can_store = true;
        self.settle(now);
    }

    /// Has a result written down.
    pub(super) fn store(&mut self, worker: u64, (assignment, nonce): (u64, Text), outcome: Outcome) {
        let entry = self.number();
        let error = match &outcome {
            Outcome::Error(error) => Some(error.clone()),
            Outcome::Output(_) => None,
        };
        self.outbox.push(entry, Entry::new(worker, (assignment, nonce.clone()), error));
        self.actions.push_back(Action::Store(Submission { entry, worker, assignment, nonce, outcome }));
    }
}
