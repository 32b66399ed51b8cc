//! N18, N22b: one execution per device, so many at once, each after its start is on disk and with exactly one end.

use super::{AgentBook, Attempt, log::Log};
use crate::checker::{Verdict, ensure};
use muster_agent::{
    Text,
    core::{Event, EventKind, Work},
};
use std::collections::{BTreeMap, BTreeSet};

/// What runs, and what was said of every attempt.
pub(super) struct Works {
    slots: usize,
    running: BTreeMap<u64, Running>,
    executed: BTreeSet<Attempt>,
    /// The number of the event that told of each beginning and each end.
    told: BTreeMap<Attempt, Told>,
}

struct Running {
    run: Text,
    device: Text,
}

#[derive(Clone, Copy, Debug, Default)]
struct Told {
    started: u32,
    finished: u32,
}

impl AgentBook {
    /// Nothing of a work runs any more.
    pub(crate) fn is_over(&mut self, work: u64) {
        self.works.running.remove(&work);
    }

    /// After a start nothing runs: of everything that was begun the end was told (N22b).
    pub(crate) fn has_answered_for_all_begun(&self) -> Verdict {
        let open = self.works.told.iter().find(|(_, told)| told.started > told.finished);
        ensure(open.is_none(), "interrupted_not_reported", || format!("{open:?}"))
    }
}

impl Works {
    pub(super) fn new(slots: usize) -> Self {
        Self { slots, running: BTreeMap::new(), executed: BTreeSet::new(), told: BTreeMap::new() }
    }

    pub(super) fn begins(&mut self, work: &Work, log: &Log) -> Verdict {
        let attempt = (work.job.task.clone(), work.job.attempt);
        let start = log.entries.iter().find(|(_, entry)| match &entry.event.kind {
            EventKind::TaskStarted { attempt: told, .. } => {
                (&told.task, told.number) == (&attempt.0, attempt.1)
            }
            _ => false,
        });
        let is_durable = start.is_some_and(|(number, _)| *number <= log.durable);
        ensure(is_durable, "begun_before_durable", || {
            format!("{attempt:?}, up to {} is durable", log.durable)
        })?;
        let other = self.running.iter().find(|(_, running)| running.device == work.job.device);
        ensure(other.is_none(), "device_runs_two", || {
            format!("{} has work {:?} and {}", work.job.device, other.map(|(number, _)| number), work.number)
        })?;
        ensure(self.running.len() < self.slots, "more_works_than_slots", || format!("{}", self.slots))?;
        self.executed.insert(attempt);
        let (run, device) = (work.job.run.clone(), work.job.device.clone());
        self.running.insert(work.number, Running { run, device });
        Ok(())
    }

    /// Whether something of a run is executed.
    pub(super) fn runs_of(&self, run: &Text) -> bool {
        self.running.values().any(|running| running.run == *run)
    }

    /// An event tells of a beginning or an end: each once.
    pub(super) fn reported(&mut self, event: &Event) -> Verdict {
        let told = self.note(event);
        ensure(told.started <= 1 && told.finished <= 1, "told_twice", || format!("{event:?}: {told:?}"))
    }

    /// Forgets what was never durable.
    pub(super) fn replay(&mut self, log: &Log) {
        self.told.clear();
        for entry in log.entries.values() {
            self.note(&entry.event);
        }
    }

    pub(super) fn died(&mut self) {
        self.running.clear();
    }

    /// Whatever was executed has one end, and somebody took it.
    pub(super) fn at_rest(&self, log: &Log) -> Verdict {
        let endless = self
            .executed
            .iter()
            .find(|attempt| self.told.get(*attempt).is_none_or(|told| told.finished != 1));
        ensure(endless.is_none(), "execution_without_end", || format!("{endless:?}"))?;
        ensure(self.running.is_empty(), "work_at_rest", || format!("{} events", log.entries.len()))
    }

    fn note(&mut self, event: &Event) -> Told {
        let Some(attempt) = event.kind.attempt() else { return Told::default() };
        let told = self.told.entry((attempt.task.clone(), attempt.number)).or_default();
        match event.kind {
            EventKind::TaskStarted { .. } => told.started += 1,
            EventKind::TaskFinished { .. } => told.finished += 1,
            _ => {}
        }
        *told
    }
}
