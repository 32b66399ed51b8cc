//! P16: what becomes of an assignment that was executed, until its result is on disk.

use super::{Action, Core, End, Outcome, Submission, outbox::Entry};
use muster_agent::Text;
use muster_model::Timestamp;

impl Core {
    /// Nothing of a work runs any more.
    pub fn ended(&mut self, work: u64, end: End, now: Timestamp) {
        let Some(held) = self.works.remove(&work) else { return self.settle(now) };
        // Of what the server has no longer it would take nothing.
        if let (End::Done(outcome), false) = (end, held.is_dropped) {
            let (assignment, nonce) = (held.assignment.id, held.assignment.nonce.clone());
            self.store(held.worker, (assignment, nonce), outcome);
        }
        self.settle(now);
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
        let is_error = matches!(outcome, Outcome::Error(_));
        self.outbox.push(entry, Entry::new(worker, (assignment, nonce.clone()), is_error));
        self.actions.push_back(Action::Store(Submission { entry, worker, assignment, nonce, outcome }));
    }
}
