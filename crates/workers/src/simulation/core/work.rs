//! S4, S5: what becomes of a task while it is rendered.

use super::{
    Action, Core, End, Loss, Note, Progress, Report, Seen, Trouble,
    beat::GONE,
    held::{Held, Outgoing, Phase},
};
use muster_model::{Millis, Timestamp};
use muster_worker_kit::Text;

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
                task: held.task.clone(),
                seen: held.seen,
                queue_max: std::mem::replace(&mut held.queue_max, held.seen.queue),
                diagnostics: std::mem::take(&mut held.diagnostics),
            }));
        }
    }

    /// Ends a task, if it is held here.
    pub(super) fn stop(&mut self, task: &str) {
        let is_it = |held: &Held| &*held.task.id == task && !held.is_ending();
        let works: Vec<u64> =
            self.works.iter().filter(|(_, held)| is_it(held)).map(|(work, _)| *work).collect();
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

/// What a master answers about a task that the worker does not hold.
const OVER: [u16; 2] = [404, 409];
const PROGRESS_EVERY: Millis = Millis(1_000);
const DIAGNOSTICS_MAX: usize = 16;
