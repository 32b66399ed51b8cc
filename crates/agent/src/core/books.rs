//! The agent's memory of runs and tasks: what it took, what became of it, what it reported (N2, N14, N22b).
//!
//! Everything here follows from the events in the spool, so a restart finds it again by reading them.

use super::{Attempt, Event, EventKind, Outcome};
use crate::Text;
use muster_model::{Millis, RunSummary, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Runs and tasks that a backend may still speak of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Books {
    pub(super) runs: BTreeMap<Text, RunBook>,
    pub(super) tasks: BTreeMap<Text, TaskBook>,
}

/// One run's part at this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RunBook {
    pub(super) targets: u64,
    pub(super) is_announced: bool,
    pub(super) begun: BTreeSet<Text>,
    pub(super) outcomes: BTreeMap<Text, Ended>,
    /// Its last `run_finished`, by its number in the spool.
    pub(super) closed_by: Option<u64>,
    /// When that was taken.
    pub(super) closed_at: Option<Timestamp>,
    pub(super) touched_at: Timestamp,
}

/// End of a task's last attempt here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    Succeeded,
    Failed,
    #[serde(rename = "timeout")]
    TimedOut,
}

/// The newest attempt of a task that was taken here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskBook {
    pub(super) attempt: Attempt,
    pub(super) phase: Phase,
    /// When a backend handed it out to this life.
    pub(super) taken_at: Timestamp,
    /// The attempt that it replaces, until that has ended.
    pub(super) older: Option<Box<(Attempt, Timestamp)>>,
}

/// State of the newest attempt of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Taken, not begun; a restart forgets it and the backend hands it out again (N2).
    Queued,
    /// Begun: a restart reports it as failed (N22b).
    Begun(Timestamp),
    /// Its end stands in the spool, or has been taken.
    Ended,
}

impl Books {
    /// Writes down what an event says.
    pub(super) fn apply(&mut self, number: u64, event: &Event) {
        let book = self.runs.entry(event.kind.run().clone()).or_default();
        book.touched_at = event.at;
        match &event.kind {
            EventKind::RunStarted { targets, .. } => book.open(*targets),
            EventKind::TaskStarted { attempt, .. } => {
                book.reopen();
                book.begun.insert(attempt.task.clone());
                let known = self.tasks.entry(attempt.task.clone()).or_insert_with(|| TaskBook::of(attempt));
                (known.attempt, known.phase) = (attempt.clone(), Phase::Begun(event.at));
            }
            EventKind::TaskProgress { .. } => {}
            EventKind::TaskFinished { attempt, outcome, .. } => {
                book.outcomes.insert(attempt.task.clone(), Ended::of(outcome));
                self.end(attempt);
            }
            EventKind::RunFinished { .. } => {
                book.closed_by = Some(number);
                book.closed_at = None;
            }
        }
    }

    /// True for a job to take: an attempt that is here already is not taken twice (N2).
    pub(super) fn is_new(&self, attempt: &Attempt) -> bool {
        self.tasks.get(&attempt.task).is_none_or(|known| {
            let known = &known.attempt;
            known.number < attempt.number || (known.number == attempt.number && known.token != attempt.token)
        })
    }

    pub(super) fn take(&mut self, attempt: Attempt, now: Timestamp) {
        let book = self.runs.entry(attempt.run.clone()).or_default();
        book.touched_at = now;
        book.reopen();
        let before = self.tasks.remove(&attempt.task);
        let older = before.and_then(|before| match before.phase {
            Phase::Begun(at) => Some(Box::new((before.attempt, at))),
            Phase::Queued | Phase::Ended => None,
        });
        let taken = TaskBook { taken_at: now, older, ..TaskBook::of(&attempt) };
        self.tasks.insert(attempt.task.clone(), taken);
    }

    /// Forgets a job that was never begun.
    pub(super) fn forget(&mut self, task: &str) {
        if self.tasks.get(task).is_some_and(|known| known.phase == Phase::Queued) {
            self.tasks.remove(task);
        }
    }

    /// True if an attempt of a task was taken after a moment: what was said before speaks of an older one.
    pub(super) fn is_taken_after(&self, task: &str, at: Timestamp) -> bool {
        self.tasks.get(task).is_some_and(|known| known.taken_at > at)
    }

    /// A run's end was taken by the backend.
    pub(super) fn closing_taken(&mut self, number: u64, now: Timestamp) {
        let closed = self.runs.values_mut().filter(|book| book.closed_by == Some(number));
        closed.for_each(|book| book.closed_at = Some(now));
    }

    /// Targets of the open runs here not yet started (N8b).
    pub(super) fn unstarted(&self) -> u64 {
        let open = self.runs.values().filter(|book| book.closed_by.is_none());
        open.map(|book| book.targets.saturating_sub(book.begun.len() as u64)).sum()
    }

    /// Attempts that were begun and never ended.
    pub(super) fn begun(&self) -> Vec<(Attempt, Timestamp)> {
        let begun = self.tasks.values().flat_map(|known| {
            let newest = match known.phase {
                Phase::Begun(at) => Some((known.attempt.clone(), at)),
                Phase::Queued | Phase::Ended => None,
            };
            known.older.as_deref().cloned().into_iter().chain(newest)
        });
        begun.collect()
    }

    /// Lets go of what no backend will speak of any more.
    pub(super) fn tidy(&mut self, now: Timestamp) {
        let gone = |book: &RunBook| {
            book.closed_at.is_some_and(|at| now - at > KEEP_CLOSED) || now - book.touched_at > KEEP_OPEN
        };
        let (runs, tasks) = (&mut self.runs, &mut self.tasks);
        let live: BTreeSet<Text> = tasks
            .values()
            .filter(|known| known.phase != Phase::Ended)
            .map(|known| known.attempt.run.clone())
            .collect();
        runs.retain(|run, book| live.contains(run) || !gone(book));
        tasks.retain(|_, known| known.phase != Phase::Ended || runs.contains_key(&known.attempt.run));
    }

    fn end(&mut self, attempt: &Attempt) {
        match self.tasks.get_mut(&attempt.task) {
            Some(known) if known.attempt.number == attempt.number && known.attempt.token == attempt.token => {
                known.phase = Phase::Ended;
            }
            // A newer attempt has replaced it.
            Some(known) => known.older = None,
            None => {
                let known = TaskBook { phase: Phase::Ended, ..TaskBook::of(attempt) };
                self.tasks.insert(attempt.task.clone(), known);
            }
        }
    }
}

impl TaskBook {
    /// An attempt that was taken and not begun.
    pub(super) fn of(attempt: &Attempt) -> Self {
        Self { attempt: attempt.clone(), phase: Phase::Queued, taken_at: Timestamp::default(), older: None }
    }
}

impl RunBook {
    /// Begins anew: a run may come back to a node after it had nothing more for it.
    fn open(&mut self, targets: u64) {
        *self = Self { targets, is_announced: true, touched_at: self.touched_at, ..Self::default() };
    }

    /// A job of a run that was closed, and is not announced anew, belongs to what came before.
    const fn reopen(&mut self) {
        (self.closed_by, self.closed_at) = (None, None);
    }

    pub(super) fn summary(&self) -> RunSummary {
        let count = |wanted: &[Ended]| self.outcomes.values().filter(|ended| wanted.contains(ended)).count();
        RunSummary {
            succeeded: count(&[Ended::Succeeded]) as u64,
            failed: count(&[Ended::Failed, Ended::TimedOut]) as u64,
            timeout: count(&[Ended::TimedOut]) as u64,
        }
    }
}

impl Ended {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Succeeded { .. } => Self::Succeeded,
            Outcome::Failed { .. } if outcome.is_timeout() => Self::TimedOut,
            Outcome::Failed { .. } => Self::Failed,
        }
    }
}

/// An answer to a pull may be on its way while the run it speaks of is closed; no pull takes longer than this.
const KEEP_CLOSED: Millis = Millis(120_000);
/// A backend that never says that a run is over is not waited for longer.
const KEEP_OPEN: Millis = Millis(7 * 24 * 3_600_000);

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(number: u32, token: &str) -> Attempt {
        let text = |text: &str| Text::from(text);
        Attempt {
            run: text("r"),
            task: text("t"),
            device: text("d"),
            handle: text("d"),
            number,
            token: Some(text(token)),
        }
    }

    fn event(at: i64, kind: EventKind) -> Event {
        Event { id: "e".into(), at: Timestamp(at), kind }
    }

    fn finished(attempt: Attempt, error: Option<&str>) -> EventKind {
        let outcome = match error {
            None => Outcome::Succeeded { artifact: None },
            Some(error) => {
                Outcome::Failed { reason: muster_model::FailureReason::Unknown, error: error.into() }
            }
        };
        EventKind::TaskFinished { attempt, started_at: Timestamp(0), outcome }
    }

    /// N2: an attempt is taken once; a higher number or another lease is another attempt.
    #[test]
    fn an_attempt_is_taken_once() {
        let mut books = Books::default();
        books.take(attempt(1, "a"), Timestamp(0));
        assert!(!books.is_new(&attempt(1, "a")) && books.is_new(&attempt(1, "b")));
        books.apply(1, &event(0, finished(attempt(1, "a"), None)));
        assert!(!books.is_new(&attempt(1, "a")) && books.is_new(&attempt(2, "b")));
        books.take(attempt(2, "b"), Timestamp(0));
        assert!(!books.is_new(&attempt(1, "a")));
        books.forget("t");
        assert!(books.is_new(&attempt(2, "b")));
    }

    /// N14: each task counts once, by its last attempt; a timeout counts within failed.
    #[test]
    fn the_summary_counts_tasks_by_their_last_attempt() {
        let mut books = Books::default();
        let started = EventKind::RunStarted { run: "r".into(), targets: 3, max_concurrency: 20 };
        books.apply(1, &event(0, started.clone()));
        books.apply(2, &event(0, finished(attempt(1, "a"), Some("timeout: LOGIN_FLOW"))));
        assert_eq!(books.runs["r"].summary(), RunSummary { succeeded: 0, failed: 1, timeout: 1 });
        books.apply(3, &event(0, finished(attempt(2, "b"), None)));
        assert_eq!(books.runs["r"].summary(), RunSummary { succeeded: 1, failed: 0, timeout: 0 });
        books.apply(4, &event(0, started));
        assert_eq!(books.runs["r"].summary(), RunSummary::default());
    }

    /// N2: what is over is remembered for two minutes after its run was closed, what is open for a week.
    #[test]
    fn the_past_is_forgotten_in_time() {
        let mut books = Books::default();
        books.apply(1, &event(0, finished(attempt(1, "a"), None)));
        books.apply(2, &event(0, EventKind::RunFinished { run: "r".into(), summary: RunSummary::default() }));
        books.closing_taken(2, Timestamp(0));
        books.tidy(Timestamp(120_000));
        assert_eq!((books.runs.len(), books.tasks.len()), (1, 1));
        books.tidy(Timestamp(120_001));
        assert_eq!(books, Books::default());
        books.take(attempt(2, "b"), Timestamp(0));
        books.tidy(Timestamp(i64::MAX));
        assert_eq!(books.tasks.len(), 1);
    }
}
