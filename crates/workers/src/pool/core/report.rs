//! P7, P8, P16: how results reach the server, and what its answers mean for them.

use super::{Action, Core, Note, Outcome, Over, Refusal, Submitted, Trouble, ask::Sent, beat::is_final};
use muster_model::Timestamp;

/// What becomes of a result that was not taken.
enum Verdict {
    /// The same bytes again, after a while.
    Later(Refusal),
    /// Nobody will ever take it.
    Never(Refusal),
    /// Nobody will ever take it, if the server has the key that it is signed with.
    Doubt(Refusal),
}

impl Core {
    /// A result was answered, or was not.
    pub fn submitted(&mut self, entry: u64, answer: Result<Submitted, Trouble>, now: Timestamp) {
        let Some(sent) = self.outbox.answered(entry) else { return self.settle(now) };
        match answer {
            Ok(how) => {
                self.heard();
                self.taken(entry, how);
            }
            Err(Trouble::Unauthorized) => self.turned_away(sent, now),
            Err(Trouble::NoAnswer(asked)) => {
                self.unheard();
                self.outbox.put_off(entry, asked, now);
            }
            // The result stays on disk: it is the worker that is in question.
            Err(Trouble::Refused(refusal)) if is_final(&refusal) => self.refuse(Over::Refused(refusal), now),
            Err(Trouble::Refused(refusal)) => match verdict(refusal) {
                Verdict::Later(refusal) => {
                    self.outbox.put_off(entry, None, now);
                    self.note(Note::Refused(refusal));
                }
                Verdict::Never(refusal) => self.set_aside(entry, refusal),
                // The server got the key meanwhile.
                Verdict::Doubt(_) if self.has_key_since(sent) => self.outbox.put_off(entry, None, now),
                Verdict::Doubt(refusal) => {
                    self.outbox.doubt(entry, refusal);
                    self.look_again();
                }
            },
        }
        self.settle(now);
    }

    pub(super) fn submit_at(&self) -> Option<Timestamp> {
        self.outbox.ready_at().filter(|_| self.may_call() && self.is_key_known())
    }

    pub(super) fn submit(&mut self, now: Timestamp) {
        if self.submit_at().is_none_or(|at| now < at) {
            return;
        }
        for entry in self.outbox.choose(now) {
            self.outbox.leave(entry, Sent { number: entry, at: now, generation: self.access.generation() });
            self.actions.push_back(Action::Submit(entry));
        }
    }

    fn taken(&mut self, number: u64, how: Submitted) {
        let Some(entry) = self.outbox.remove(number) else { return };
        self.done.push(entry.assignment);
        self.actions.push_back(Action::Ack(number));
        if entry.error.is_some() {
            self.counts.failed += 1;
        } else {
            self.counts.completed += 1;
        }
        self.counts.repeated += u64::from(how == Submitted::Before);
        self.note(Note::Taken { assignment: entry.assignment, error: entry.error, how });
    }

    pub(super) fn set_aside(&mut self, number: u64, refusal: Refusal) {
        let Some(entry) = self.outbox.remove(number) else { return };
        let why = format!("{} {}", refusal.status, refusal.detail);
        self.actions.push_back(Action::SetAside { entry: number, why: why.trim_end().into() });
        self.counts.aside += 1;
        if UNFIT.contains(&refusal.status) && entry.error.is_none() {
            // The server does not take this form of it, and would go on waiting; so it learns why there is none.
            let error = format!("the result was refused with {why}");
            self.store(entry.worker, (entry.assignment, entry.nonce), Outcome::Error(error.into()));
        } else {
            self.done.push(entry.assignment);
        }
        self.note(Note::SetAside { assignment: entry.assignment, refusal });
    }
}

/// Only the contract's own words are an end: anything else comes from somebody on the way, who does not speak of an
/// assignment. After a `Concurrent submission conflict` nobody can tell whether it was taken.
fn verdict(refusal: Refusal) -> Verdict {
    let is_said = |(status, detail): &(u16, &str)| *status == refusal.status && *detail == &*refusal.detail;
    if UNFIT.contains(&refusal.status) || NEVER.iter().any(is_said) {
        return Verdict::Never(refusal);
    }
    match refusal.status == 400 && DOUBTS.contains(&&*refusal.detail) {
        true => Verdict::Doubt(refusal),
        false => Verdict::Later(refusal),
    }
}

/// Refusals that say that the server will never take a result (P8, P11, P15).
const NEVER: [(u16, &str); 6] = [
    (404, "Assignment not found"),
    (400, "Invalid nonce"),
    (409, "Assignment already submitted"),
    (409, "Assignment is not in a submittable state"),
    (400, "Output required"),
    (400, "Output hash mismatch"),
];
/// P8: what the contract says of a key, or of a signature.
const DOUBTS: [&str; 6] = [
    "Worker public key is not configured",
    "Invalid public key encoding",
    "Invalid public key length",
    "Invalid signature encoding",
    "Invalid signature length",
    "Signature verification failed",
];
/// Too long, or of a shape that the server does not take.
pub(super) const UNFIT: [u16; 2] = [413, 422];
