//! P16: results that the server does not have yet.

use super::{
    Action, Core, Note, Outcome, Over, Refusal, Spooled, Submission, Submitted, Trouble,
    access::{Ask, Sent},
    is_final,
};
use muster_contract_pool::refusal::ALREADY_SUBMITTED;
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Text;
use std::collections::BTreeMap;

/// Results by their entry in the spool.
#[derive(Debug, Default)]
pub(super) struct Outbox(BTreeMap<u64, Entry>);

/// A result that the server does not have yet.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) worker: u64,
    pub(super) assignment: u64,
    pub(super) nonce: Text,
    /// Reason of the failure, where the assignment failed.
    pub(super) error: Option<Text>,
    is_durable: bool,
    /// The server says that it is the key, or the signature, that is wrong. Which it is shows when the key is looked up.
    doubt: Option<Refusal>,
    /// Left by an earlier life.
    is_found: bool,
    /// Forms in which the server may have accepted it: it recognises a repeat by its bytes (P8).
    sent_as: Vec<Form>,
    /// The form in which it left last.
    form: Form,
    /// The one form in which it may leave, if the server rules out the other.
    only: Option<Form>,
    ask: Ask,
}

/// The form in which a result leaves. Its bytes differ: in a batch it has no signature of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As it is on disk (P7).
    Single,
    /// With others under one signature (P20).
    Batch,
}

impl Entry {
    fn new(worker: u64, assignment: u64, nonce: Text, error: Option<Text>) -> Self {
        Self {
            worker,
            assignment,
            nonce,
            error,
            is_durable: false,
            doubt: None,
            is_found: false,
            sent_as: Vec::new(),
            form: Form::Single,
            only: None,
            ask: Ask::default(),
        }
    }

    fn leave_as(&mut self, form: Form, sent: Sent) {
        self.ask.leave(sent);
        self.form = form;
        if !self.sent_as.contains(&form) {
            self.sent_as.push(form);
        }
    }

    /// Notes that the server has another result than the form that left last. Returns true if it may have accepted the
    /// other form, which leaves next.
    fn try_other_form(&mut self, now: Timestamp) -> bool {
        self.sent_as.retain(|sent| *sent != self.form);
        let other = self.sent_as.first().copied();
        if other.is_some() {
            self.only = other;
            self.ask.again_at(now);
        }
        other.is_some()
    }

    /// Sends it by itself from now on. Returns false if it left alone already, or must leave in a batch.
    fn leave_batches(&mut self, now: Timestamp) -> bool {
        let may_leave = self.form == Form::Batch && self.only.is_none();
        if may_leave {
            self.only = Some(Form::Single);
            self.ask.again_at(now);
        }
        may_leave
    }
}

impl Outbox {
    pub(super) fn found(spooled: Vec<Spooled>) -> Self {
        let entry = |Spooled { worker, assignment, nonce, is_error }| {
            let error = is_error.then(|| "it failed in an earlier life of the worker".into());
            let entry = Entry::new(worker, assignment, nonce, error);
            Entry { is_durable: true, is_found: true, sent_as: vec![Form::Single, Form::Batch], ..entry }
        };
        Self((1..).zip(spooled.into_iter().map(entry)).collect())
    }

    pub(super) fn push(&mut self, submission: &Submission) {
        let Submission { entry, worker, assignment, nonce, outcome } = submission;
        let error = match outcome {
            Outcome::Error(error) => Some(error.clone()),
            Outcome::Output(_) => None,
        };
        self.0.insert(*entry, Entry::new(*worker, *assignment, nonce.clone(), error));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, assignment: u64) -> bool {
        self.0.values().any(|entry| entry.assignment == assignment)
    }

    /// True if something of an earlier life is left.
    pub(super) fn has_found(&self) -> bool {
        self.0.values().any(|entry| entry.is_found)
    }

    /// A worker other than this one whose results are here.
    pub(super) fn other_worker(&self, worker: u64) -> Option<u64> {
        self.0.values().map(|entry| entry.worker).find(|other| *other != worker)
    }

    pub(super) fn stored(&mut self, number: u64) {
        if let Some(entry) = self.0.get_mut(&number) {
            entry.is_durable = true;
        }
    }

    fn get(&mut self, number: u64) -> Option<&mut Entry> {
        self.0.get_mut(&number)
    }

    /// Takes a result out that was answered for good.
    pub(super) fn remove(&mut self, number: u64) -> Option<Entry> {
        self.0.remove(&number)
    }

    /// A result was refused for its signature, or for the key.
    pub(super) fn doubt(&mut self, number: u64, refusal: Refusal) {
        if let Some(entry) = self.0.get_mut(&number) {
            entry.doubt = Some(refusal);
        }
    }

    /// Takes all doubts away, and gives them.
    pub(super) fn take_doubts(&mut self) -> Vec<(u64, Refusal)> {
        let doubts = self.0.iter_mut().filter_map(|(number, entry)| Some((*number, entry.doubt.take()?)));
        doubts.collect()
    }

    /// When the next result could leave, if only time keeps it back.
    pub(super) fn ready_at(&self) -> Option<Timestamp> {
        let has_room = self.in_flight() < AT_ONCE_MAX;
        self.ready().filter(|_| has_room).map(|(_, at)| at).min()
    }

    /// Chooses what leaves now, the oldest first: several together, unless the server takes no batches. A batch brings along
    /// what would leave a little later, so that results share a request again after an outage.
    fn choose(&self, takes_batches: bool, now: Timestamp) -> Departure {
        let mut ready: Vec<(u64, Timestamp)> = self.ready().collect();
        ready.sort_unstable_by_key(|(number, at)| (*at > now, *number));
        let due = ready.iter().filter(|(_, at)| *at <= now).count();
        ready.truncate(AT_ONCE_MAX.saturating_sub(self.in_flight()));
        let (mut departure, mut together) = (Departure::default(), Vec::new());
        for (place, (number, _)) in ready.into_iter().enumerate() {
            match self.0[&number].only {
                None if takes_batches && (place < due || !together.is_empty()) => together.push(number),
                _ if place >= due => {}
                // A refusal of the request is about this result then.
                Some(Form::Batch) => departure.batches.push(vec![number]),
                Some(Form::Single) | None => departure.single.push(number),
            }
        }
        together.sort_unstable();
        match &together[..] {
            [] => {}
            [one] if self.0[one].form == Form::Single => {
                departure.single.push(*one);
                departure.single.sort_unstable();
            }
            _ => departure.batches.push(together),
        }
        departure
    }

    /// Results on disk that are not on their way, and when each may leave.
    fn ready(&self) -> impl Iterator<Item = (u64, Timestamp)> {
        let durable = self.0.iter().filter(|(_, entry)| entry.is_durable);
        durable.filter_map(|(number, entry)| Some((*number, entry.ask.ready_at()?)))
    }

    fn in_flight(&self) -> usize {
        self.0.values().filter(|entry| entry.ask.is_on_its_way()).count()
    }
}

/// Results that leave now, by their entries.
#[derive(Default)]
struct Departure {
    /// Each batch under one signature.
    batches: Vec<Vec<u64>>,
    /// Each by itself.
    single: Vec<u64>,
}

/// Meaning of a refused result.
enum Verdict {
    /// The same bytes again, after a while.
    Later(Refusal),
    /// The server will never take it.
    Never(Refusal),
    /// The server will never take it, if it has the key that the result is signed with.
    Doubt(Refusal),
}

impl Core {
    /// A result was answered, or was not.
    pub fn submitted(&mut self, entry: u64, answer: Result<Submitted, Trouble>, now: Timestamp) {
        self.answered(entry, answer, now);
        self.settle(now);
    }

    /// Results that left together were answered, each for itself and in the order they left, or were not (P20).
    pub fn submitted_batch(
        &mut self,
        entries: &[u64],
        answer: Result<Vec<Result<Submitted, Refusal>>, Trouble>,
        now: Timestamp,
    ) {
        match answer {
            Ok(answers) => {
                for (entry, answer) in entries.iter().zip(answers) {
                    self.answered(*entry, answer.map_err(Trouble::Refused), now);
                }
            }
            Err(Trouble::Refused(refusal)) if !is_final(&refusal) && refusal.status != 409 => {
                self.do_without_batches(entries, refusal, now);
            }
            Err(trouble) => {
                for entry in entries {
                    self.answered(*entry, Err(trouble.clone()), now);
                }
            }
        }
        self.settle(now);
    }

    /// The server refuses the request as a whole: it is of an older version, or something about the batch does not fit.
    fn do_without_batches(&mut self, entries: &[u64], refusal: Refusal, now: Timestamp) {
        for number in entries {
            let Some(entry) = self.outbox.get(*number) else { continue };
            if entry.ask.abandon().is_none() || entry.leave_batches(now) {
                continue;
            }
            if UNOFFERED.contains(&refusal.status) {
                // It was tried by itself before, and the server has a result that is not the same bytes.
                self.set_aside(*number, Refusal { status: 409, detail: ALREADY_SUBMITTED.into() });
            } else {
                entry.ask.put_off(None, now);
            }
        }
        self.batches_at = now + BATCHES_AGAIN;
        self.note(Note::Refused(refusal));
    }

    fn answered(&mut self, number: u64, answer: Result<Submitted, Trouble>, now: Timestamp) {
        let Some(entry) = self.outbox.get(number) else { return };
        let Some(sent) = entry.ask.abandon() else { return };
        match answer {
            Ok(how) => {
                self.heard();
                self.taken(number, how);
            }
            Err(Trouble::Unauthorized) => self.turned_away(sent, now),
            Err(Trouble::NoAnswer(asked)) => {
                entry.ask.put_off(asked, now);
                self.unheard();
            }
            // The result stays on disk: it is the worker that is in question.
            Err(Trouble::Refused(refusal)) if is_final(&refusal) => self.refuse(Over::Refused(refusal), now),
            Err(Trouble::Refused(refusal)) => match verdict(refusal) {
                Verdict::Later(refusal) => {
                    entry.ask.put_off(None, now);
                    self.note(Note::Refused(refusal));
                }
                Verdict::Never(refusal)
                    if &*refusal.detail == ALREADY_SUBMITTED && entry.try_other_form(now) => {}
                Verdict::Never(refusal) => self.set_aside(number, refusal),
                // The server got the key meanwhile.
                Verdict::Doubt(_) if self.link.has_key_since(sent) => entry.ask.put_off(None, now),
                // The signature of the batch may be in question, not that of the result.
                Verdict::Doubt(_) if entry.leave_batches(now) => {}
                Verdict::Doubt(refusal) => {
                    self.outbox.doubt(number, refusal);
                    self.look_again();
                }
            },
        }
    }

    pub(super) fn submit_at(&self) -> Option<Timestamp> {
        self.outbox.ready_at().filter(|_| self.may_call() && self.is_key_known())
    }

    pub(super) fn submit(&mut self, now: Timestamp) {
        if self.submit_at().is_none_or(|at| now < at) {
            return;
        }
        let Departure { batches, single } = self.outbox.choose(self.batches_at <= now, now);
        for number in single {
            self.depart(number, Form::Single, now);
            self.actions.push_back(Action::Submit(number));
        }
        for entries in batches {
            // All results on disk are of one worker.
            let worker = entries.iter().filter_map(|number| self.depart(*number, Form::Batch, now)).last();
            self.actions.extend(worker.map(|worker| Action::SubmitBatch { worker, entries }));
        }
    }

    /// Notes that a result leaves; returns its worker.
    fn depart(&mut self, number: u64, form: Form, now: Timestamp) -> Option<u64> {
        let sent = Sent { number, at: now, generation: self.access.generation() };
        let entry = self.outbox.get(number)?;
        entry.leave_as(form, sent);
        Some(entry.worker)
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
        let Some(Entry { worker, assignment, nonce, error, .. }) = self.outbox.remove(number) else { return };
        let why = format!("{} {}", refusal.status, refusal.detail);
        self.actions.push_back(Action::SetAside { entry: number, why: why.trim_end().into() });
        self.counts.aside += 1;
        if UNFIT.contains(&refusal.status) && error.is_none() {
            // The server does not take this form of it, and would go on waiting; so it learns why there is none.
            let outcome = Outcome::Error(format!("the result was refused with {why}").into());
            let entry = self.number();
            self.store(Submission { entry, worker, assignment, nonce, outcome });
        } else {
            self.done.push(assignment);
        }
        self.note(Note::SetAside { assignment, refusal });
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

/// Pause after a server refused a batch as a whole: it may be replaced by a newer version.
const BATCHES_AGAIN: Millis = Millis(60_000);
/// Statuses that say that the server has no batches, or none of this length.
const UNOFFERED: [u16; 4] = [404, 405, 413, 422];
/// Results that are on their way at once.
const AT_ONCE_MAX: usize = 16;
/// Refusals that say that the server will never take a result (P8, P11, P15).
const NEVER: [(u16, &str); 6] = [
    (404, "Assignment not found"),
    (400, "Invalid nonce"),
    (409, ALREADY_SUBMITTED),
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
