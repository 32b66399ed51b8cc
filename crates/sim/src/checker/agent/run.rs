//! N14: a run is over at a node after all its tasks there are, and its summary counts each by its last end.

use super::{AgentBook, log::Log, work::Works};
use crate::checker::{Verdict, ensure};
use muster_agent::{
    Text,
    core::{Event, EventKind, Outcome, Summary},
};
use std::collections::{BTreeMap, BTreeSet};

impl AgentBook {
    /// What was told of every run that is over.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = Summary> {
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
    let (open, counted) = count(run, log);
    ensure(open.is_empty(), "run_over_with_open_tasks", || format!("{run}: {open:?}"))?;
    // A run whose end was refused is a matter for people; the agent does not remember it for long.
    ensure(counted == *summary || log.is_end_refused(run), "summary_unlike_its_tasks", || {
        format!("{run}: {summary:?} was told, {counted:?} counted")
    })
}

/// What is begun and has not ended, and what became of the rest since the run was last announced here.
fn count(run: &Text, log: &Log) -> (BTreeSet<Text>, Summary) {
    let mut open = BTreeSet::new();
    let mut ends: BTreeMap<Text, (bool, bool)> = BTreeMap::new();
    for entry in log.entries.values().filter(|entry| entry.event.kind.run() == run) {
        match &entry.event.kind {
            EventKind::RunStarted { .. } => ends.clear(),
            EventKind::TaskStarted { attempt, .. } => drop(open.insert(attempt.task.clone())),
            EventKind::TaskFinished { attempt, outcome, .. } => {
                open.remove(&attempt.task);
                ends.insert(attempt.task.clone(), judge(outcome));
            }
            EventKind::TaskProgress { .. } | EventKind::RunFinished { .. } => {}
        }
    }
    let count = |wanted: fn(&(bool, bool)) -> bool| ends.values().filter(|end| wanted(end)).count() as u64;
    let summary =
        Summary { succeeded: count(|end| end.0), failed: count(|end| !end.0), timeout: count(|end| end.1) };
    (open, summary)
}

/// Whether it went well, and whether time ran out.
fn judge(outcome: &Outcome) -> (bool, bool) {
    match outcome {
        Outcome::Succeeded { .. } => (true, false),
        Outcome::Failed { error, .. } => (false, error.starts_with("timeout: ")),
    }
}
