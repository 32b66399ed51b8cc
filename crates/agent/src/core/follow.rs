//! N1, N2, N9, N14: what an answer to a pull means.

use super::{
    Core,
    action::{PullAnswer, RunOffer},
    event::{Attempt, EventKind, Outcome},
    lanes::Cut,
};
use crate::{Job, Text};
use muster_model::{FailureReason, Millis, Timestamp};

impl Core {
    /// Does what a backend asks for; says whether any of it was new. `asked_at`: when the question left.
    pub(super) fn follow(&mut self, answer: PullAnswer, asked_at: Timestamp, now: Timestamp) -> bool {
        let before = (self.last_event, self.lanes.waiting_count(), self.actions.len());
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

    fn announce(&mut self, offer: RunOffer, now: Timestamp) {
        let book = self.books.runs.get(&offer.run);
        if book.is_some_and(|book| book.is_announced && book.closed_by.is_none()) {
            return;
        }
        let RunOffer { run, targets, max_concurrency } = offer;
        self.report(EventKind::RunStarted { run, targets, max_concurrency }, now);
    }

    /// Takes a job, once. A newer attempt of a task replaces the older, which is ended first.
    fn take(&mut self, job: Job, now: Timestamp) {
        let attempt = Attempt::of(&job, &job.handle);
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
        let attempt = Attempt::of(job, &job.handle);
        let outcome = Outcome::Failed { reason: FailureReason::Unknown, error: NEVER_BEGUN.into() };
        self.report(EventKind::TaskFinished { attempt, started_at: now, outcome }, now);
    }
}

/// How long after its answer the end of a run is not told again.
const AGAIN: Millis = Millis(30_000);
const STOPPED: &str = "stopped on request";
const REPLACED: &str = "replaced by a newer attempt";
const NEVER_BEGUN: &str = "stopped before it began";
