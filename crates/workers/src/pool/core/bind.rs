//! P3, P4, P16: which worker this is at the server, and with which key.

use super::{
    Action, Core, Note, Over, Trouble, WorkerSummary,
    access::{Ask, Sent},
    is_final,
    outbox::UNFIT,
};
use muster_model::Timestamp;
use muster_worker_kit::Text;

/// Registration of this worker at the server.
#[derive(Debug, Default)]
pub(super) struct Link {
    phase: Phase,
    ask: Ask,
    /// Number of assignments that the server gives the worker at once, where it said so.
    slots: Option<u64>,
    /// When it was given the key that results are signed with, where it had none.
    given_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Look it up. If the name was taken when it registered and is not among the owner's, it is somebody else's.
    Look {
        is_taken: bool,
    },
    Register,
    /// The server has no key, and shall have the one that results are signed with.
    GiveKey {
        worker: u64,
    },
    /// The server shall have the next key; before that, whatever the old one has signed must be gone.
    GiveNextKey {
        worker: u64,
    },
    /// The server has the next key: the old one has done its service.
    ReplaceKey {
        worker: u64,
    },
    Bound {
        worker: u64,
    },
}

impl Link {
    /// True if the server got the key after this call was made.
    pub(super) fn has_key_since(&self, sent: Sent) -> bool {
        self.given_at.is_some_and(|given_at| sent.at <= given_at)
    }
}

impl Default for Phase {
    fn default() -> Self {
        Self::Look { is_taken: false }
    }
}

impl Core {
    /// The owner's workers were listed, or were not.
    pub fn listed(&mut self, number: u64, answer: Result<Vec<WorkerSummary>, Trouble>, now: Timestamp) {
        let Some(sent) = self.link.ask.take(number) else { return self.settle(now) };
        match (answer, self.link.phase) {
            (Ok(known), Phase::Look { is_taken }) => {
                self.heard();
                self.link.ask.again_at(now);
                match known.into_iter().find(|known| known.name == self.settings.name) {
                    Some(known) => {
                        self.note(Note::Found { worker: known.id, last_seen: known.last_seen.clone() });
                        self.recognise(&known, now);
                    }
                    None if is_taken => self.refuse(Over::NameTaken, now),
                    None => self.link.phase = Phase::Register,
                }
            }
            (Ok(_), _) => {}
            (Err(trouble), _) => self.not_bound(sent, trouble, now),
        }
        self.settle(now);
    }

    /// A registration was answered, or was not.
    pub fn registered(&mut self, number: u64, answer: Result<WorkerSummary, Trouble>, now: Timestamp) {
        let Some(sent) = self.link.ask.take(number) else { return self.settle(now) };
        match answer {
            Ok(known) => {
                self.heard();
                self.link.ask.again_at(now);
                self.note(Note::Registered { worker: known.id });
                self.recognise(&known, now);
            }
            // It may have been this worker, whose answer was lost.
            Err(Trouble::Refused(refusal)) if refusal.status == 409 && &*refusal.detail == NAME_EXISTS => {
                self.link.phase = Phase::Look { is_taken: true };
            }
            Err(trouble) => self.not_bound(sent, trouble, now),
        }
        self.settle(now);
    }

    /// The server was given a key, or was not.
    pub fn key_given(&mut self, number: u64, answer: Result<(), Trouble>, now: Timestamp) {
        let Some(sent) = self.link.ask.take(number) else { return self.settle(now) };
        match (answer, self.link.phase) {
            (Ok(()), Phase::GiveKey { worker }) => {
                self.heard();
                self.link.ask.again_at(now);
                self.link.given_at = Some(now);
                // They were refused for want of a key.
                let _doubts = self.outbox.take_doubts();
                self.link.phase = self.with_own_key(worker);
            }
            (Ok(()), Phase::GiveNextKey { worker }) => {
                self.heard();
                self.link.ask.again_at(now);
                self.link.phase = Phase::ReplaceKey { worker };
            }
            (Ok(()), _) => {}
            (Err(trouble), _) => self.not_bound(sent, trouble, now),
        }
        self.settle(now);
    }

    /// The next key is in the place of the old one, or why not.
    pub fn replaced(&mut self, number: u64, answer: Result<(), Text>, now: Timestamp) {
        if self.link.ask.take(number).is_none() {
            return self.settle(now);
        }
        match (answer, self.link.phase) {
            (Ok(()), Phase::ReplaceKey { worker }) => {
                self.link.ask.again_at(now);
                self.settings.key = self.settings.next_key.take().unwrap_or(self.settings.key.clone());
                self.link.phase = Phase::Bound { worker };
                self.note(Note::KeyReplaced);
            }
            (Ok(()), _) => {}
            (Err(why), _) => {
                self.link.ask.put_off(None, now);
                self.note(Note::KeyNotReplaced { why });
            }
        }
        self.settle(now);
    }

    /// Looks the worker up again: what the server said makes one wonder.
    pub(super) fn look_again(&mut self) {
        match self.link.phase {
            Phase::Bound { .. } | Phase::GiveNextKey { .. } => self.link.phase = Phase::default(),
            // The response to the pending request may be older than the doubt.
            Phase::Look { .. } => drop(self.link.ask.abandon()),
            _ => {}
        }
    }

    /// Its number, once all is settled.
    pub(super) const fn worker(&self) -> Option<u64> {
        match self.link.phase {
            Phase::Bound { worker } => Some(worker),
            _ => None,
        }
    }

    /// Upper limit of started assignments: as many as the server gives at once, or as this worker has slots.
    pub(super) fn started_max(&self) -> u32 {
        let theirs = self.link.slots.unwrap_or_default().min(u64::from(SLOTS_MAX));
        u32::try_from(theirs).unwrap_or(SLOTS_MAX).max(self.settings.slots)
    }

    /// True if results can be submitted: the server has the key that they are signed with.
    pub(super) const fn is_key_known(&self) -> bool {
        matches!(self.link.phase, Phase::Bound { .. } | Phase::GiveNextKey { .. })
    }

    pub(super) fn bind_at(&self) -> Option<Timestamp> {
        let is_ready = match self.link.phase {
            Phase::Bound { .. } => false,
            // This one calls nobody, and what was begun at the server should be ended.
            Phase::ReplaceKey { .. } => true,
            Phase::GiveNextKey { .. } => self.may_call() && self.outbox.is_empty() && self.works.is_empty(),
            Phase::Look { .. } | Phase::Register | Phase::GiveKey { .. } => {
                self.may_call() && self.is_worth_binding()
            }
        };
        self.link.ask.ready_at().filter(|_| is_ready)
    }

    pub(super) fn bind(&mut self, now: Timestamp) {
        if self.bind_at().is_none_or(|at| now < at) {
            return;
        }
        let sent = self.next_call(now);
        let number = sent.number;
        self.link.ask.leave(sent);
        let key = self.settings.key.clone();
        let next_key = self.settings.next_key.clone();
        self.actions.push_back(match self.link.phase {
            Phase::Look { .. } | Phase::Bound { .. } => Action::List(number),
            Phase::Register => Action::Register(number),
            Phase::GiveKey { worker } => Action::GiveKey { number, worker, key },
            Phase::GiveNextKey { worker } => Action::GiveKey { number, worker, key: next_key.unwrap_or(key) },
            Phase::ReplaceKey { .. } => Action::ReplaceKey(number),
        });
    }

    /// A leaving worker binds only to submit results that the server does not have.
    fn is_worth_binding(&self) -> bool {
        self.farewell.is_none() || !self.outbox.is_empty()
    }

    /// Judges the worker that the server knows by this name.
    fn recognise(&mut self, known: &WorkerSummary, now: Timestamp) {
        let worker = known.id;
        self.link.slots = known.slots;
        if let Some(other) = self.outbox.other_worker(worker) {
            return self.refuse(Over::OtherSpool { worker: other }, now);
        }
        let (key, next) = (&self.settings.key, &self.settings.next_key);
        self.link.phase = match known.key.as_ref().filter(|key| !key.is_empty()) {
            None => Phase::GiveKey { worker },
            Some(theirs) if Some(theirs) == next.as_ref() => Phase::ReplaceKey { worker },
            Some(theirs) if theirs == key => self.with_own_key(worker),
            Some(theirs) => return self.refuse(Over::OtherKey { key: theirs.clone() }, now),
        };
        if self.is_key_known() {
            // It is not the key: then it is the result.
            for (entry, refusal) in self.outbox.take_doubts() {
                self.set_aside(entry, refusal);
            }
        }
        if let Some(theirs) = known.slots.filter(|slots| *slots != u64::from(self.settings.slots)) {
            self.note(Note::OtherSlots { theirs });
        }
    }

    /// The phase after the server has the key that results are signed with.
    const fn with_own_key(&self, worker: u64) -> Phase {
        match self.settings.next_key {
            Some(_) => Phase::GiveNextKey { worker },
            None => Phase::Bound { worker },
        }
    }

    /// A call came to nothing. Whatever was asked for may have happened all the same: look before the next try.
    fn not_bound(&mut self, sent: Sent, trouble: Trouble, now: Timestamp) {
        match trouble {
            Trouble::NoAnswer(asked) => {
                self.link.ask.put_off(asked, now);
                self.unheard();
            }
            Trouble::Unauthorized => self.turned_away(sent, now),
            Trouble::Refused(refusal) if is_final(&refusal) || UNFIT.contains(&refusal.status) => {
                return self.refuse(Over::Refused(refusal), now);
            }
            // That is somebody on the way.
            Trouble::Refused(refusal) => {
                self.link.ask.put_off(None, now);
                self.note(Note::Refused(refusal));
            }
        }
        if !matches!(self.link.phase, Phase::Look { .. }) {
            self.link.phase = Phase::default();
        }
    }
}

const NAME_EXISTS: &str = "Worker name already exists";
/// A server may be wrong about slots, and what it says bounds how much of its answers is read.
const SLOTS_MAX: u32 = 1_024;
