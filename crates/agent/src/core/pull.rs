//! N1, N20: asking for work. One pull waits at the backend at all times.

use super::{
    AnnouncedRun, Core, EventKind, Outcome, PulledWork,
    action::{Action, NoAnswer, PullRequest},
    outbox,
    work::Cut,
};
use crate::{Job, Text};
use muster_model::{FailureReason, Millis, Timestamp};
use std::collections::BTreeMap;

/// The pulls under way, and when the next is due.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    last: u64,
    /// The one that asks for work.
    asking: Option<Asked>,
    /// One beside it that only tells of devices.
    telling: Option<Asked>,
    not_before: Timestamp,
    /// After a report of devices was not answered, the next waits like any other.
    tell_not_before: Timestamp,
    tell_failures: u32,
    /// The last pull asked for nothing, because nothing could be taken.
    is_resting: bool,
    failures: u32,
    was_answered: bool,
    /// Counts the changes of the devices.
    devices: u64,
    /// The change that the backend knows of.
    told: Option<u64>,
    told_at: Timestamp,
}

/// A pull under way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u64,
    at: Timestamp,
    max_jobs: u32,
    waits: bool,
    /// The change of the devices that it tells of.
    devices: Option<u64>,
}

impl Pulls {
    pub(super) const fn devices_changed(&mut self) {
        self.devices += 1;
    }

    pub(super) const fn is_reachable(&self) -> bool {
        self.was_answered && self.failures == 0
    }

    /// When the next pull is due, unless one is under way.
    pub(super) fn next_at(&self, are_devices_known: bool) -> Option<Timestamp> {
        let due = if self.asking.is_none() {
            Some(self.not_before)
        } else {
            self.must_tell().then_some(self.tell_not_before)
        };
        due.filter(|_| are_devices_known)
    }

    fn may_ask(&self, appetite: u32, now: Timestamp) -> bool {
        let is_hungry_again = self.is_resting && appetite > 0 && self.failures == 0;
        self.asking.is_none() && (self.not_before <= now || is_hungry_again)
    }

    /// The devices have changed, and no pull under way tells of it.
    fn must_tell(&self) -> bool {
        let now = Some(self.devices);
        let is_told = |asked: &Option<Asked>| asked.is_some_and(|asked| asked.devices == now);
        let is_on_its_way = is_told(&self.asking) || self.telling.is_some();
        self.told != now && !is_on_its_way && self.failures == 0
    }

    fn tells_of_devices(&self, now: Timestamp) -> bool {
        self.told != Some(self.devices) || now - self.told_at >= TELL_EVERY
    }

    fn answered(&mut self, asked: &Asked, now: Timestamp) {
        self.failures = 0;
        self.tell_failures = 0;
        self.was_answered = true;
        if asked.devices.is_some() {
            self.told = asked.devices;
            self.told_at = now;
        }
    }
}

impl Core {
    /// Handles the response to a pull.
    pub fn pulled(&mut self, number: u64, result: Result<PulledWork, NoAnswer>, now: Timestamp) {
        let is_it = |asked: &mut Asked| asked.number == number;
        if let Some(told) = self.pulls.telling.take_if(is_it) {
            match result {
                Ok(answer) => {
                    self.heard(&told, now);
                    self.follow(answer, told.at, now);
                }
                Err(NoAnswer) => {
                    self.pulls.tell_failures = self.pulls.tell_failures.saturating_add(1);
                    self.pulls.tell_not_before = now + outbox::BACKOFF.delay(self.pulls.tell_failures);
                }
            }
        } else if let Some(asked) = self.pulls.asking.take_if(is_it) {
            match result {
                Ok(answer) => self.take_answer(answer, &asked, now),
                Err(NoAnswer) => {
                    self.pulls.failures = self.pulls.failures.saturating_add(1);
                    self.pulls.not_before = now + outbox::BACKOFF.delay(self.pulls.failures);
                }
            }
        }
        self.settle(now);
    }

    /// Asks for work when that is due, and tells of devices at once when they have changed meanwhile.
    pub(super) fn pull(&mut self, now: Timestamp) {
        if self.devices.is_none() {
            return;
        }
        let appetite = self.appetite();
        if self.pulls.may_ask(appetite, now) {
            let tells = self.pulls.tells_of_devices(now);
            self.pulls.asking = Some(self.ask(appetite, tells, now));
            self.pulls.is_resting = appetite == 0;
        } else if self.pulls.must_tell() && self.pulls.tell_not_before <= now {
            self.pulls.telling = Some(self.ask(0, true, now));
        }
    }

    /// A pull was answered. If pulls had failed, whatever waits in the spool is tried at once (N20).
    fn heard(&mut self, asked: &Asked, now: Timestamp) {
        if self.pulls.failures > 0 {
            self.link.look_again(now);
            self.outbox.look_again();
        }
        self.pulls.answered(asked, now);
    }

    fn take_answer(&mut self, answer: PulledWork, asked: &Asked, now: Timestamp) {
        self.heard(asked, now);
        let is_news = self.follow(answer, asked.at, now);
        // A backend that does not hold its answer back must not be asked in a loop.
        let pause = match asked {
            _ if is_news => Millis(0),
            Asked { max_jobs: 0, .. } => REST,
            Asked { waits: true, at, .. } if now - *at < HASTE => HASTE,
            _ => Millis(0),
        };
        self.pulls.not_before = now + pause;
    }

    /// Number of jobs that it would take now; none while it could not report on them or not begin them.
    fn appetite(&self) -> u32 {
        // An event that the backend keeps deferring must not keep the whole node idle.
        let is_cut_off = self.link.is_degraded() && self.outbox.oldest_expected().is_some();
        let is_closed = self.drain.is_some() || self.is_spool_full || is_cut_off || self.link.is_recovering();
        let waiting = u32::try_from(self.lanes.waiting_count()).unwrap_or(u32::MAX);
        if is_closed { 0 } else { self.settings.slots.saturating_sub(waiting) }
    }

    /// A question for work may wait at the backend; a mere report is answered at once, and so is the very first
    /// question, which shows whether there is a backend.
    fn ask(&mut self, max_jobs: u32, tells: bool, now: Timestamp) -> Asked {
        let wait = (max_jobs > 0 && self.pulls.was_answered).then_some(self.settings.wait);
        self.pulls.last += 1;
        let number = self.pulls.last;
        let devices = self.devices.as_ref().filter(|_| tells);
        let devices = devices.map(|devices: &BTreeMap<_, _>| devices.values().cloned().collect());
        self.actions.push_back(Action::Pull(PullRequest { number, max_jobs, wait, devices }));
        let devices = tells.then_some(self.pulls.devices);
        Asked { number, at: now, max_jobs, waits: wait.is_some(), devices }
    }
}

impl Core {
    /// Does what a backend asks for; says whether any of it was new. `asked_at`: when the question left.
    pub(super) fn follow(&mut self, answer: PulledWork, asked_at: Timestamp, now: Timestamp) -> bool {
        let before = (self.last_event, self.lanes.waiting_count(), self.actions.len());
        self.together.offered(answer.offers_callbacks(), now);
        for task in &answer.stop {
            // Two answers may overtake each other: a stop that was asked for before a newer attempt came is not for it.
            if !self.books.is_taken_after(task, asked_at) {
                self.stop(task, &answer.stop_jobs, now);
            }
        }
        for offer in answer.runs {
            self.announce(offer, now);
        }
        for job in answer.jobs {
            self.take(job, now);
        }
        for run in answer.finished_runs {
            self.close(run, asked_at);
        }
        self.finish_runs(now);
        before != (self.last_event, self.lanes.waiting_count(), self.actions.len())
    }

    /// Says that runs are over here once nothing of them is in hand any more.
    pub(super) fn finish_runs(&mut self, now: Timestamp) {
        let over: Vec<Text> =
            self.finishing.iter().filter(|run| !self.lanes.holds_run(run)).cloned().collect();
        for run in over {
            self.finishing.remove(&run);
            let summary = self.books.runs.get(&run).map(super::books::RunBook::summary).unwrap_or_default();
            self.report(EventKind::RunFinished { run, summary }, now);
        }
    }

    /// Ends a task that the backend wants no more, and tells of its end.
    fn stop(&mut self, task: &Text, known_to_backend: &[Job], now: Timestamp) {
        self.cut(task, Cut::Stopped(STOPPED));
        if let Some(job) = self.lanes.withdraw(task) {
            self.never_begun(&job, now);
        } else if !self.books.tasks.contains_key(task) {
            // Handed out in an answer that never arrived, or forgotten in a crash before it was begun.
            let job = known_to_backend.iter().find(|job| job.task == *task);
            if let Some(job) = job {
                self.never_begun(job, now);
            }
        }
    }

    fn announce(&mut self, offer: AnnouncedRun, now: Timestamp) {
        let book = self.books.runs.get(&offer.run);
        if book.is_some_and(|book| book.is_announced && book.closed_by.is_none()) {
            return;
        }
        let AnnouncedRun { run, targets, max_concurrency } = offer;
        self.report(EventKind::RunStarted { run, targets, max_concurrency }, now);
    }

    /// Takes a job, once. A newer attempt of a task replaces the older, which is ended first.
    fn take(&mut self, job: Job, now: Timestamp) {
        let attempt = job.attempt_by(&job.handle);
        if self.drain.is_some() || !self.books.is_new(&attempt) {
            return;
        }
        if let Some(older) = self.lanes.withdraw(&job.task) {
            self.never_begun(&older, now);
        }
        self.cut(&job.task, Cut::Stopped(REPLACED));
        self.books.take(attempt, now);
        self.lanes.push(job);
    }

    /// A run holds nothing more for this node. Said again of a run that was closed a while before the question left, it
    /// means that the backend does not know. One that never listens is not told in a loop.
    fn close(&mut self, run: Text, asked_at: Timestamp) {
        let is_said = self.books.runs.get(&run).is_some_and(|book| {
            book.closed_by.is_some() && book.closed_at.is_none_or(|at| asked_at <= at + AGAIN)
        });
        if !is_said {
            self.finishing.insert(run);
        }
    }

    fn never_begun(&mut self, job: &Job, now: Timestamp) {
        let attempt = job.attempt_by(&job.handle);
        let outcome = Outcome::Failed { reason: FailureReason::Unknown, error: NEVER_BEGUN.into() };
        self.report(EventKind::TaskFinished { attempt, started_at: now, outcome }, now);
    }
}

/// Devices are told of this often even if nothing has changed.
const TELL_EVERY: Millis = Millis(30_000);
/// The least time between two pulls that brought nothing new.
const HASTE: Millis = Millis(1_000);
/// The time between two pulls while no work can be taken: `stop` is heard all the same.
const REST: Millis = Millis(5_000);
/// Time after its response during which the end of a run is not reported again.
const AGAIN: Millis = Millis(30_000);
const STOPPED: &str = "stopped on request";
const REPLACED: &str = "replaced by a newer attempt";
const NEVER_BEGUN: &str = "stopped before it began";
