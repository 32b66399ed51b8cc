//! S3, S4, S5, S18: tasks, from the question for one, or the push, to the answer to its result.

use super::{
    super::Task,
    Action, Core, End, Loss, Note, Offer, Progress, Refusal, Report, Seen, Trouble, Work,
    link::{BACKOFF, GONE, Link},
};
use muster_contract_simulation::{ProgressRequest, PullReply};
use muster_model::{Millis, Ratio, Timestamp};
use muster_worker_kit::Text;
use std::{collections::VecDeque, sync::Arc};

/// State of the pulls.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    pub(super) next_at: Timestamp,
    /// The question on its way, and since when.
    asking: Option<(u64, Timestamp)>,
    tries: u32,
}

/// Judgement of a task.
enum Verdict {
    Begin,
    Held,
    Done,
    Full,
    Stale,
    Wrong(Text),
    Away,
}

impl Core {
    /// A pull was answered, or was not.
    pub fn pulled(&mut self, number: u64, answer: Result<PullReply, Trouble>, now: Timestamp) {
        self.fence(now);
        let Some((_, asked_at)) = self.pulls.asking.take_if(|(asked, _)| *asked == number) else {
            return self.settle(now);
        };
        self.pulls.tries = if answer.is_ok() { 0 } else { self.pulls.tries.saturating_add(1) };
        // A master that answers at once must not be asked without end.
        self.pulls.next_at = now.max(asked_at + PAUSE);
        match answer {
            Ok(PullReply::Nothing) => {}
            Ok(PullReply::Task(task)) => self.take_pulled(*task, now),
            Ok(PullReply::Wrong { task, why }) => self.turn_down(task, why),
            Err(Trouble::NoAnswer(asked)) => {
                self.pulls.next_at = now + BACKOFF.patience(self.pulls.tries, asked)
            }
            Err(Trouble::Unauthorized) => self.lose(Loss::Unknown, now),
            Err(Trouble::Refused(refusal)) if refusal.status == GONE => self.removed(refusal, now),
            // Heartbeats tell the worker's state.
            Err(Trouble::Refused(refusal)) => {
                self.pulls.next_at = now + BACKOFF.patience(self.pulls.tries, None);
                self.note(Note::NotTaken { task: None, why: refusal.detail });
            }
        }
        self.settle(now);
    }

    /// A task was pushed here.
    pub fn offered(&mut self, task: Task, now: Timestamp) -> Offer {
        self.fence(now);
        let offer = match self.judge(&task) {
            Verdict::Begin => {
                self.begin(task, now);
                Offer::Taken
            }
            Verdict::Held | Verdict::Done => Offer::Taken,
            Verdict::Full => Offer::Full,
            Verdict::Stale => Offer::Stale { epoch: self.epoch },
            Verdict::Wrong(why) => Offer::Wrong { why },
            Verdict::Away => Offer::Away,
        };
        self.settle(now);
        offer
    }

    /// Asks for a task, when there is room for one.
    pub(super) fn pull(&mut self, now: Timestamp) {
        let Some(wait) = self.settings.pull_wait.filter(|_| self.wants_work() && self.pulls.next_at <= now)
        else {
            return;
        };
        let number = self.next_number();
        self.pulls.asking = Some((number, now));
        self.actions.push_back(Action::Pull { number, wait });
    }

    /// True if it would ask for a task.
    ///
    /// A pace of 0 does not keep it from that: it is what shows that its queue is empty again.
    pub(super) fn wants_work(&self) -> bool {
        let Link::Bound(bound) = &self.link else { return false };
        let may =
            self.pauses == 0 && !self.is_quarantined() && self.farewell.is_none() && !bound.rebind.is_wanted;
        may && self.settings.pull_wait.is_some() && self.pulls.asking.is_none() && !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.works.len() >= usize::try_from(self.settings.slots).unwrap_or(usize::MAX)
    }

    fn take_pulled(&mut self, task: Task, now: Timestamp) {
        let name = Some((task.id.clone(), task.attempt));
        match self.judge(&task) {
            Verdict::Begin => {
                self.pulls.next_at = now;
                self.begin(task, now);
            }
            Verdict::Held => {}
            Verdict::Done => self.turn_down(name, "it was done or given up here before".into()),
            Verdict::Wrong(why) => self.turn_down(name, why),
            // Nothing is told: the master hands it out again, or is none.
            Verdict::Full => self.note(Note::NotTaken { task: Some(task.id), why: "no slot is free".into() }),
            Verdict::Stale => self.note(Note::StaleMaster { epoch: task.epoch }),
            Verdict::Away => {}
        }
    }

    /// Judges a task.
    fn judge(&mut self, task: &Task) -> Verdict {
        if self.farewell.is_some() || self.is_quarantined() || !matches!(self.link, Link::Bound(_)) {
            return Verdict::Away;
        }
        if task.epoch < self.epoch {
            return Verdict::Stale;
        }
        if let Err(error) = task.check().and_then(|()| task.check_below(self.settings.output_root.as_deref()))
        {
            return Verdict::Wrong(error.to_string().into());
        }
        match self.works.values().find(|held| held.task.is_same(task)) {
            Some(held) if !held.is_ending() => return Verdict::Held,
            // A task that is just being ended is not begun again: both would write into one directory.
            Some(_) => return Verdict::Done,
            None => {}
        }
        if self.done.has(task) {
            return Verdict::Done;
        }
        // Another attempt at what is held here: that one is over.
        self.stop(&task.id, self.last_number + 1);
        if self.is_full() { Verdict::Full } else { Verdict::Begin }
    }

    fn begin(&mut self, task: Task, now: Timestamp) {
        let (number, task) = (self.next_number(), Arc::new(task));
        self.epoch = self.epoch.max(task.epoch);
        self.works.insert(number, Held::new(Arc::clone(&task), now));
        self.actions.push_back(Action::Begin(Work { number, task }));
    }

    /// Tells the master that a task will not be done here. Where that is lost, the master hands the task out again.
    fn turn_down(&mut self, task: Option<(Text, u16)>, why: Text) {
        self.note(Note::NotTaken { task: task.as_ref().map(|(task, _)| task.clone()), why: why.clone() });
        if let Some((task, attempt)) = task {
            let work = self.next_number();
            self.actions.push_back(Action::Send { work, report: Report::Fail { task, attempt, error: why } });
        }
    }
}

impl Core {
    /// A renderer got further.
    pub fn progressed(&mut self, work: u64, seen: Seen, now: Timestamp) {
        if let Some(held) = self.works.get_mut(&work).filter(|held| held.is_running()) {
            self.frames += seen.processed.saturating_sub(held.seen.processed);
            self.last_frame = seen.last_frame.or(self.last_frame);
            held.queue_max = held.queue_max.max(seen.queue);
            held.seen = seen;
        }
        self.settle(now);
    }

    /// A renderer has something to say.
    pub fn remarked(&mut self, work: u64, remark: Text) {
        let room = |held: &&mut Held| held.diagnostics.len() < DIAGNOSTICS_MAX;
        if let Some(held) = self.works.get_mut(&work).filter(room) {
            held.diagnostics.push(remark);
        }
    }

    /// Nothing of a work runs any more.
    pub fn ended(&mut self, work: u64, end: End, now: Timestamp) {
        self.fence(now);
        let Some(held) = self.works.get_mut(&work) else { return self.settle(now) };
        let (task, attempt) = (held.task.id.clone(), held.task.attempt);
        if held.is_ending() {
            self.drop_work(work);
            return self.settle(now);
        }
        let report = match end {
            End::Finished { body } => Report::Complete { task, body },
            End::Failed { error } => Report::Fail { task, attempt, error },
            End::Stopped => Report::Fail { task, attempt, error: "it was stopped".into() },
        };
        held.phase = Phase::Reporting(Outgoing { report, tries: 0, next_at: now, is_on_its_way: false });
        self.settle(now);
    }

    /// A progress was answered, or was not.
    pub fn told(&mut self, number: u64, answer: Result<(), Trouble>, now: Timestamp) {
        self.fence(now);
        let telling = self.works.iter_mut().find(|(_, held)| held.telling == Some(number));
        let Some((&work, held)) = telling else { return self.settle(now) };
        held.telling = None;
        match answer {
            // The answer to a task that is being ended may belong to an earlier registration.
            Err(Trouble::Refused(refusal)) if refusal.status == GONE && !held.is_ending() => {
                self.removed(refusal, now);
            }
            // The task is not, or no longer, this worker's.
            Err(Trouble::Refused(refusal)) if OVER.contains(&refusal.status) && held.is_running() => {
                self.note(Note::Stopping { task: self.works[&work].task.id.clone() });
                self.let_go(work);
            }
            Err(Trouble::Unauthorized) => self.lose(Loss::Unknown, now),
            Err(Trouble::NoAnswer(asked)) => held.progress_lost(now, asked),
            Ok(()) | Err(Trouble::Refused(_)) => {}
        }
        self.settle(now);
    }

    /// Tells how far works are that were not told of for a while.
    pub(super) fn tell(&mut self, now: Timestamp) {
        for held in self.works.values_mut().filter(|held| held.is_progress_due(now)) {
            self.last_number += 1;
            held.telling = Some(self.last_number);
            held.told_processed = held.seen.processed;
            held.progress_at = now + PROGRESS_EVERY;
            self.actions.push_back(Action::Progress(Progress {
                number: self.last_number,
                request: ProgressRequest {
                    session: held.task.session.clone(),
                    task: Some(held.task.id.clone()),
                    processed: held.seen.processed,
                    max_queue_ratio: std::mem::replace(&mut held.queue_max, held.seen.queue),
                    dropped: held.seen.dropped,
                    diagnostics: std::mem::take(&mut held.diagnostics),
                },
            }));
        }
    }

    /// Ends a task, if it was held here when the request with this number was sent.
    ///
    /// Responses can overtake each other: the order may be older than an attempt of the same task that was given to
    /// this worker since. The order names no attempt. One that means the newer attempt comes again with the next
    /// heartbeats.
    pub(super) fn stop(&mut self, task: &str, request: u64) {
        let is_it = |held: &Held| &*held.task.id == task && !held.is_ending();
        let before = self.works.range(..request);
        let works: Vec<u64> = before.filter(|(_, held)| is_it(held)).map(|(work, _)| *work).collect();
        for work in works {
            self.note(Note::Stopping { task: task.into() });
            self.let_go(work);
        }
    }

    /// Ends everything, and tells nothing of it.
    pub(super) fn let_go_of_all(&mut self) {
        let works: Vec<u64> = self.works.keys().copied().collect();
        works.into_iter().for_each(|work| self.let_go(work));
    }

    /// Ends a work and tells nothing of it; one that only waits for its answer is dropped.
    pub(super) fn let_go(&mut self, work: u64) {
        let Some(held) = self.works.get_mut(&work) else { return };
        match held.phase {
            Phase::Running => {
                held.phase = Phase::Ending;
                self.actions.push_back(Action::Kill(work));
            }
            Phase::Ending => {}
            Phase::Reporting(_) => self.drop_work(work),
        }
    }

    /// Nothing of a work is left to do.
    pub(super) fn drop_work(&mut self, work: u64) {
        if let Some(held) = self.works.remove(&work) {
            self.done.push(held.task);
        }
    }
}

/// A task that is held. It takes a slot until the master has its result: until then the master counts it as held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) task: Arc<Task>,
    pub(super) phase: Phase,
    pub(super) seen: Seen,
    /// Highest fill level of its queue since the last progress.
    pub(super) queue_max: Ratio,
    pub(super) diagnostics: Vec<Text>,
    pub(super) progress_at: Timestamp,
    /// The progress on its way.
    pub(super) telling: Option<u64>,
    /// The frames that the last progress told of.
    pub(super) told_processed: u64,
}

/// Its progress.
#[derive(Debug)]
pub(super) enum Phase {
    Running,
    /// Killed, and not yet gone; nothing will be told of it.
    Ending,
    Reporting(Outgoing),
}

/// A result that the master does not have yet.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) report: Report,
    pub(super) tries: u32,
    pub(super) next_at: Timestamp,
    pub(super) is_on_its_way: bool,
}

impl Held {
    /// A task that is begun now. That is told at once: until then the master does not know that its answer arrived.
    pub(super) fn new(task: Arc<Task>, now: Timestamp) -> Self {
        Self {
            task,
            phase: Phase::Running,
            seen: Seen::default(),
            queue_max: Ratio::default(),
            diagnostics: Vec::new(),
            progress_at: now,
            telling: None,
            told_processed: 0,
        }
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    pub(super) const fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending)
    }

    /// True if a failure waits for a progress. The master takes the frame after those that were done for the one that
    /// failed (S26b), so it must hear of them first.
    pub(super) fn awaits_progress(&self) -> bool {
        let is_telling = self.telling.is_some();
        self.failure().is_some_and(|failure| is_telling || self.owes_progress(failure))
    }

    /// True if a progress must be sent now.
    pub(super) fn is_progress_due(&self, now: Timestamp) -> bool {
        let is_due = match (&self.phase, self.failure()) {
            (Phase::Running, _) => self.progress_at <= now,
            (_, Some(failure)) => self.owes_progress(failure) && failure.next_at <= now,
            _ => false,
        };
        is_due && self.telling.is_none()
    }

    /// The response to the last progress is lost. A failure that waited for it waits for another one.
    pub(super) fn progress_lost(&mut self, now: Timestamp, asked: Option<Millis>) {
        self.told_processed = 0;
        if self.failure().is_none() {
            return;
        }
        let Phase::Reporting(failure) = &mut self.phase else { return };
        failure.tries = failure.tries.saturating_add(1);
        failure.next_at = now + BACKOFF.patience(failure.tries, asked);
    }

    fn failure(&self) -> Option<&Outgoing> {
        match &self.phase {
            Phase::Reporting(outgoing) if matches!(outgoing.report, Report::Fail { .. }) => Some(outgoing),
            _ => None,
        }
    }

    fn owes_progress(&self, failure: &Outgoing) -> bool {
        let has_news = self.told_processed != self.seen.processed || !self.diagnostics.is_empty();
        has_news && !failure.is_on_its_way && failure.tries < PROGRESS_TRIES_MAX
    }

    pub(super) fn next_wake(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Running => self.telling.is_none().then_some(self.progress_at),
            Phase::Ending => None,
            Phase::Reporting(outgoing) => {
                let waits = self.telling.is_some() && self.awaits_progress();
                (!outgoing.is_on_its_way && !waits).then_some(outgoing.next_at)
            }
        }
    }
}

/// Assignments that were held here and are not any more. One that is pushed again, or by somebody who recorded it, is
/// not done again.
#[derive(Debug, Default)]
pub(super) struct Done(VecDeque<Arc<Task>>);

impl Done {
    pub(super) fn push(&mut self, task: Arc<Task>) {
        if self.0.len() == DONE_MAX {
            self.0.pop_front();
        }
        self.0.push_back(task);
    }

    pub(super) fn has(&self, task: &Task) -> bool {
        self.0.iter().any(|done| done.is_same(task))
    }
}

impl Core {
    /// A result was answered, or was not.
    pub fn sent(&mut self, work: u64, answer: Result<(), Trouble>, now: Timestamp) {
        self.fence(now);
        let Some(held) = self.works.get_mut(&work) else { return self.settle(now) };
        let Phase::Reporting(outgoing) = &mut held.phase else { return self.settle(now) };
        outgoing.is_on_its_way = false;
        match answer {
            Ok(()) => {
                let report = outgoing.report.clone();
                self.drop_work(work);
                self.note(Note::Taken(report));
            }
            Err(Trouble::NoAnswer(asked)) => {
                outgoing.tries = outgoing.tries.saturating_add(1);
                outgoing.next_at = now + BACKOFF.patience(outgoing.tries, asked);
            }
            Err(Trouble::Unauthorized) => self.lose(Loss::Unknown, now),
            Err(Trouble::Refused(refusal)) if refusal.status == GONE => self.removed(refusal, now),
            Err(Trouble::Refused(refusal)) => self.refused(work, refusal, now),
        }
        self.settle(now);
    }

    /// Sends what is due. A failure waits for the progress before it, so that they arrive in this order.
    pub(super) fn hand_in(&mut self, now: Timestamp) {
        for (work, held) in &mut self.works {
            let waits = held.awaits_progress();
            let Phase::Reporting(outgoing) = &mut held.phase else { continue };
            if !waits && !outgoing.is_on_its_way && outgoing.next_at <= now {
                outgoing.is_on_its_way = true;
                self.actions.push_back(Action::Send { work: *work, report: outgoing.report.clone() });
            }
        }
    }

    /// A master that finds fault with a result still counts the task as held here: it is told that it failed.
    fn refused(&mut self, work: u64, refusal: Refusal, now: Timestamp) {
        let Some(held) = self.works.get_mut(&work) else { return };
        let Phase::Reporting(outgoing) = &mut held.phase else { return };
        let report = outgoing.report.clone();
        let is_fault = FAULTS.contains(&refusal.status) && matches!(report, Report::Complete { .. });
        if is_fault {
            let error = format!("the completion was refused: {} {}", refusal.status, refusal.detail);
            let (task, attempt) = (held.task.id.clone(), held.task.attempt);
            let report = Report::Fail { task, attempt, error: error.into() };
            *outgoing = Outgoing { report, tries: 0, next_at: now, is_on_its_way: false };
        } else {
            self.drop_work(work);
        }
        self.note(Note::GivenUp { report, refusal });
    }
}

/// The least time between two pulls that bring nothing.
const PAUSE: Millis = Millis(1_000);
/// Statuses of a master's response about a task that the worker does not hold.
const OVER: [u16; 2] = [404, 409];
const PROGRESS_EVERY: Millis = Millis(1_000);
const DIAGNOSTICS_MAX: usize = 16;
const DONE_MAX: usize = 1_024;
/// A master that never answers a progress is told of the failure anyway.
const PROGRESS_TRIES_MAX: u32 = 3;
/// Answers that say: not like this.
const FAULTS: [u16; 3] = [400, 413, 422];
