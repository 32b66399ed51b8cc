//! N14: a run is over at a node after all its tasks there are, and its summary counts each by its last end.

use super::{AgentBook, log::Log, work::Works};
use crate::checker::{Verdict, ensure};
use muster_agent::{
    Text,
    core::{Event, EventKind, Outcome},
};
use muster_model::{Millis, RunSummary, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

impl AgentBook {
    /// What was told of every run that is over.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = RunSummary> {
        let events = self.log.entries.values().map(|entry| &entry.event.kind);
        events.filter_map(|kind| match kind {
            EventKind::RunFinished { summary, .. } => Some(*summary),
            _ => None,
        })
    }
}

/// Looks at an event that is about to be written down.
pub(super) fn check(event: &Event, log: &Log, works: &Works) -> Verdict {
    let EventKind::RunFinished { run, summary } = &event.kind else {
        return Ok(());
    };
    ensure(!works.runs_of(run), "run_over_while_it_runs", || format!("{run}"))?;
    let count = Count::of(run, log);
    ensure(count.open.is_empty(), "run_over_with_open_tasks", || format!("{run}: {:?}", count.open))?;
    // What was told to be over a while ago may have been forgotten since.
    let is_long_over = count.over_at.is_some_and(|at| event.at - at > REMEMBERED);
    let is_right = Count::summary(&count.ends) == *summary
        || (is_long_over && Count::summary(&count.ends_since_over) == *summary);
    ensure(is_right, "summary_unlike_its_tasks", || format!("{run}: {summary:?} was told, {count:?} counted"))
}

/// What is known of a run since it was last announced here.
#[derive(Debug, Default)]
struct Count {
    /// Tasks that were begun and have not ended.
    open: BTreeSet<Text>,
    ends: BTreeMap<Text, End>,
    /// When it was last told to be over, and what has ended since.
    over_at: Option<Timestamp>,
    ends_since_over: BTreeMap<Text, End>,
}

#[derive(Clone, Copy, Debug)]
struct End {
    is_good: bool,
    is_timeout: bool,
}

impl Count {
    fn of(run: &Text, log: &Log) -> Self {
        let mut count = Self::default();
        let events = log.entries.values().map(|entry| &entry.event);
        events.filter(|event| event.kind.run() == run).for_each(|event| count.add(event));
        count
    }

    fn add(&mut self, event: &Event) {
        match &event.kind {
            EventKind::RunStarted { .. } => {
                *self = Self { open: std::mem::take(&mut self.open), ..Self::default() }
            }
            EventKind::TaskStarted { attempt, .. } => drop(self.open.insert(attempt.task.clone())),
            EventKind::TaskFinished { attempt, outcome, .. } => {
                self.open.remove(&attempt.task);
                self.ends.insert(attempt.task.clone(), End::of(outcome));
                self.ends_since_over.insert(attempt.task.clone(), End::of(outcome));
            }
            EventKind::RunFinished { .. } => {
                self.over_at = Some(event.at);
                self.ends_since_over.clear();
            }
            EventKind::TaskProgress { .. } => {}
        }
    }

    fn summary(ends: &BTreeMap<Text, End>) -> RunSummary {
        let count = |wanted: fn(&End) -> bool| ends.values().filter(|end| wanted(end)).count() as u64;
        RunSummary {
            succeeded: count(|end| end.is_good),
            failed: count(|end| !end.is_good),
            timeout: count(|end| end.is_timeout),
        }
    }
}

impl End {
    fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Succeeded { .. } => Self { is_good: true, is_timeout: false },
            Outcome::Failed { error, .. } => {
                Self { is_good: false, is_timeout: error.starts_with("timeout: ") }
            }
        }
    }
}

/// How long an agent remembers for certain what it told to be over.
const REMEMBERED: Millis = Millis(120_000);
