//! P6: how assignments come here, and which are begun.

use super::{
    super::Assignment,
    Action, Core, End, Execution, Note, Over, Refusal, Started, Submission, Trouble, Waiting, Work,
    access::{BACKOFF, Sent},
};
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Text;
use std::{collections::VecDeque, sync::Arc};

/// Assignments whose results have left. An answer that was written before that may still name them.
#[derive(Debug, Default)]
pub(super) struct Done(VecDeque<u64>);

impl Done {
    pub(super) fn push(&mut self, assignment: u64) {
        if self.0.len() == DONE_MAX {
            self.0.pop_front();
        }
        self.0.push_back(assignment);
    }

    fn has(&self, assignment: u64) -> bool {
        self.0.contains(&assignment)
    }
}

impl Core {
    /// Handles the list of what the worker has started, or its failure.
    pub fn resumed(&mut self, number: u64, answer: Result<Started, Trouble>, now: Timestamp) {
        let Some(sent) = self.resume.take(number) else { return self.settle(now) };
        match answer {
            Ok(Started::All(assignments)) => {
                self.drop_others(&assignments, sent);
                self.go_on_with(&assignments, now);
            }
            Ok(Started::TooLong) => self.cannot_read_started(now),
            Ok(Started::One(assignment)) => self.go_on_with(&[assignment], now),
            Err(Trouble::Refused(refusal)) if is_nothing(&refusal) => self.go_on_with(&[], now),
            Err(trouble) => {
                // A server that does not know the endpoint will not know it later either; a leaving worker has no
                // time to retry.
                let is_known = !matches!(trouble, Trouble::Refused(_)) && self.farewell.is_none();
                self.must_resume |= is_known;
                match self.judge(sent, trouble, now) {
                    Some(_) if !is_known => self.resume.again_at(now + RESUME_EVERY),
                    Some(asked) => self.resume.put_off(asked, now),
                    None => {}
                }
            }
        }
        self.settle(now);
    }

    /// A poll was answered, with an assignment or with none, or was not.
    pub fn polled(&mut self, number: u64, answer: Result<Option<Assignment>, Trouble>, now: Timestamp) {
        let Some(sent) = self.poll.take(number) else { return self.settle(now) };
        let answer = match answer {
            Err(Trouble::Refused(refusal)) if is_nothing(&refusal) => Ok(None),
            answer => answer,
        };
        match answer {
            Ok(assignment) => {
                self.heard();
                let is_new = assignment.is_some_and(|assignment| self.offer(&assignment, now));
                // A server that answers at once must not be asked without end.
                self.poll.again_at(if is_new { now } else { now.max(sent.at + PAUSE) });
            }
            Err(trouble) => {
                // Something may have been started for an answer that is lost.
                self.must_resume |= matches!(trouble, Trouble::NoAnswer(_));
                if self.must_resume {
                    self.resume.again_at(now);
                }
                if let Some(asked) = self.judge(sent, trouble, now) {
                    self.poll.put_off(asked, now);
                }
            }
        }
        self.settle(now);
    }

    pub(super) fn resume_at(&self) -> Option<Timestamp> {
        let may = self.may_call() && self.worker().is_some() && self.can_store;
        // P16: what an earlier life left is submitted first.
        let may = may && !self.outbox.has_found();
        let is_wanted = self.must_resume || self.farewell.is_none();
        self.resume.ready_at().filter(|_| may && is_wanted)
    }

    pub(super) fn ask_to_resume(&mut self, now: Timestamp) {
        let Some(worker) = self.worker().filter(|_| self.resume_at().is_some_and(|at| at <= now)) else {
            return;
        };
        let sent = self.next_call(now);
        // A poll whose answer is lost from now on makes it due again.
        self.must_resume = false;
        self.resume.leave(sent);
        let at_most = self.started_max();
        self.actions.push_back(Action::Resume { number: sent.number, worker, at_most });
    }

    pub(super) fn poll_at(&self) -> Option<Timestamp> {
        let may = self.may_call() && self.worker().is_some() && self.farewell.is_none();
        let is_ready = self.can_store && !self.outbox.has_found() && self.outbox.len() < self.outbox_max();
        let is_told = !self.must_resume && !self.resume.is_on_its_way();
        let is_idle = self.works.is_empty() && self.waiting.is_empty();
        let able_at = match &self.unable {
            None => Timestamp::default(),
            // Nothing is left to try it with.
            Some(unable) if is_idle => unable.until,
            Some(_) => return None,
        };
        let ready_at = self.poll.ready_at().filter(|_| may && is_ready && is_told && self.free() > 0);
        ready_at.map(|at| at.max(able_at))
    }

    pub(super) fn ask_for_work(&mut self, now: Timestamp) {
        let Some(worker) = self.worker().filter(|_| self.poll_at().is_some_and(|at| at <= now)) else {
            return;
        };
        let sent = self.next_call(now);
        self.poll.leave(sent);
        self.actions.push_back(Action::Poll { number: sent.number, worker, wait: self.settings.poll_wait });
    }

    /// Takes back a poll that is on its way. It may have started something, which is asked for, and executed: nobody else
    /// would until its lease is over.
    pub(super) fn take_back_poll(&mut self, now: Timestamp) {
        let poll = self.poll.abandon();
        self.must_resume = poll.is_some();
        if let Some(poll) = poll {
            self.resume.again_at(now);
            self.actions.push_back(Action::TakeBack(poll.number));
        }
    }

    /// When something that waits can be begun.
    pub(super) fn begin_at(&self) -> Option<Timestamp> {
        let may = self.farewell.is_none() && self.can_store && self.worker().is_some();
        let is_ready = may && !self.waiting.is_empty() && self.works.len() < self.slots();
        is_ready.then(|| self.unable.as_ref().map_or(Timestamp::default(), |unable| unable.until))
    }

    /// Begins what waits for a slot, where one is free.
    pub(super) fn begin_waiting(&mut self, now: Timestamp) {
        while self.begin_at().is_some_and(|at| at <= now) {
            let Some(waiting) = self.waiting.pop_front() else { return };
            self.begin(waiting.assignment);
        }
    }

    /// Executes what was started before, unless it is known here.
    fn go_on_with(&mut self, assignments: &[Assignment], now: Timestamp) {
        self.heard();
        self.too_long_in_a_row = 0;
        self.resume.again_at(now + RESUME_EVERY);
        let begun = assignments.iter().filter(|assignment| self.offer(assignment, now)).count();
        if begun > 0 {
            self.note(Note::Resumed { assignments: begun });
        }
    }

    /// Handles a list of started assignments that is too long to read.
    ///
    /// Without the list the worker cannot execute them, yet each of its heartbeats keeps them from other workers.
    /// Such a worker is worse than none, so it stops after `TOO_LONG_MAX` tries.
    fn cannot_read_started(&mut self, now: Timestamp) {
        self.heard();
        self.too_long_in_a_row += 1;
        if self.too_long_in_a_row >= TOO_LONG_MAX {
            return self.refuse(Over::TooLong, now);
        }
        self.must_resume |= self.farewell.is_none();
        self.resume.put_off(None, now);
    }

    /// Lets go of what is not the worker's any more: cancelled, decided by others, or given to others. What came here
    /// after the question was asked is not spoken of.
    fn drop_others(&mut self, started: &[Assignment], asked: Sent) {
        let is_gone = |id: u64| !started.iter().any(|assignment| assignment.id == id);
        self.waiting.retain(|waiting| waiting.since >= asked.number || !is_gone(waiting.assignment.id));
        for (number, execution) in self.works.range_mut(..asked.number) {
            let assignment = execution.work.assignment.id;
            if is_gone(assignment) && !std::mem::replace(&mut execution.is_dropped, true) {
                self.actions.extend([Action::Kill(*number), Action::Note(Note::Dropped { assignment })]);
            }
        }
    }

    /// Takes an assignment, unless it is known here; says whether it is new.
    fn offer(&mut self, assignment: &Assignment, now: Timestamp) -> bool {
        let id = assignment.id;
        let is_held = self.works.values().any(|execution| execution.work.assignment.id == id)
            || self.waiting.iter().any(|waiting| waiting.assignment.id == id);
        let is_leaving = self.farewell.is_some();
        let may_begin = self.farewell.as_ref().is_none_or(|farewell| farewell.may_begin(now));
        if !may_begin || is_held || self.outbox.has(id) || self.done.has(id) {
            return false;
        }
        let assignment = Arc::new(assignment.clone());
        match self.works.len() < self.slots() && self.unable.is_none() {
            true => self.begin(assignment),
            // The next worker with this name finds the assignment again.
            false if is_leaving => return false,
            false => self.waiting.push_back(Waiting { since: self.last_number, assignment }),
        }
        true
    }

    fn begin(&mut self, assignment: Arc<Assignment>) {
        let Some(worker) = self.worker() else {
            return self.waiting.push_front(Waiting { since: self.last_number, assignment });
        };
        let work = Work { number: self.number(), worker, assignment };
        self.works.insert(work.number, Execution { work: work.clone(), is_dropped: false });
        self.actions.push_back(Action::Begin(work));
    }

    fn free(&self) -> usize {
        self.slots().saturating_sub(self.works.len() + self.waiting.len())
    }

    fn slots(&self) -> usize {
        usize::try_from(self.settings.slots).unwrap_or(usize::MAX)
    }

    /// Results that nobody takes must not pile up without end.
    fn outbox_max(&self) -> usize {
        self.slots().saturating_add(OUTBOX_SPARE)
    }
}

/// True if an answer says that there is nothing to do.
fn is_nothing(refusal: &Refusal) -> bool {
    refusal.status == 404 && &*refusal.detail == NO_ASSIGNMENT
}

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
        let Some(Execution { work, is_dropped }) = self.works.remove(&work) else { return self.settle(now) };
        match end {
            // Of what the server has no longer it would take nothing.
            _ if is_dropped => {}
            End::Done(outcome) => {
                self.unable = None;
                let (assignment, nonce) = (work.assignment.id, work.assignment.nonce.clone());
                let entry = self.number();
                self.store(Submission { entry, worker: work.worker, assignment, nonce, outcome });
            }
            End::Stopped => {}
            End::Unable(why) => self.put_back(work, why, now),
        }
        self.settle(now);
    }

    /// Keeps an assignment that this machine could not begin, for another try; until then nothing is begun or taken.
    fn put_back(&mut self, work: Work, why: Text, now: Timestamp) {
        let tries = self.unable.as_ref().map_or(0, |unable| unable.tries).saturating_add(1);
        self.unable = Some(Unable { tries, until: now + BACKOFF.delay(tries) });
        self.note(Note::Unable { assignment: work.assignment.id, why });
        // The next worker with this name finds the assignment again.
        if self.farewell.is_none() {
            self.waiting.push_front(Waiting { since: work.number, assignment: work.assignment });
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
    pub(super) fn store(&mut self, submission: Submission) {
        self.outbox.push(&submission);
        self.actions.push_back(Action::Store(submission));
    }
}

const NO_ASSIGNMENT: &str = "No assignment available";
/// The least time between two polls that bring nothing.
const PAUSE: Millis = Millis(1_000);
/// A poll of an earlier life may have been granted after that life was over; and what runs may be wanted no more.
const RESUME_EVERY: Millis = Millis(30_000);
/// Answers in a row that are too long before it is believed.
const TOO_LONG_MAX: u32 = 3;
const OUTBOX_SPARE: usize = 16;
const DONE_MAX: usize = 4_096;
