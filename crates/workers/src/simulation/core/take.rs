//! S3, S18: how tasks are taken, by pull or by push, and which are not.

use super::{
    super::Task,
    Action, Core, Loss, Note, Offer, Report, Trouble, Work,
    beat::GONE,
    link::{BACKOFF, Link},
    work::Held,
};
use muster_contract_simulation::PullReply;
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Text;
use std::sync::Arc;

/// What is asked of the master.
#[derive(Debug, Default)]
pub(super) struct Pulls {
    pub(super) next_at: Timestamp,
    /// The question on its way, and since when.
    asking: Option<(u64, Timestamp)>,
    tries: u32,
}

/// What is thought of a task.
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

    /// Whether it would ask for a task.
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

    /// What to think of a task.
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
            // What is just being ended is not begun again: both would write into one directory.
            Some(_) => return Verdict::Done,
            None => {}
        }
        if self.done.has(task) {
            return Verdict::Done;
        }
        // Another attempt at what is held here: that one is over.
        self.stop(&task.id);
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

/// The least time between two pulls that bring nothing.
const PAUSE: Millis = Millis(1_000);
