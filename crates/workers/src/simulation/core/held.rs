//! A task that is held here, from the moment it is taken until the master has its result.

use super::super::Task;
use super::{Report, Seen};
use muster_agent::Text;
use muster_model::{Ratio, Timestamp};
use std::{collections::VecDeque, sync::Arc};

/// A task that is held. It takes a slot until the master has its result: until then the master counts it as held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) task: Arc<Task>,
    pub(super) phase: Phase,
    pub(super) seen: Seen,
    /// How full its queue was at most since the last progress.
    pub(super) queue_max: Ratio,
    pub(super) diagnostics: Vec<Text>,
    pub(super) progress_at: Timestamp,
    /// The progress on its way.
    pub(super) telling: Option<u64>,
}

/// How far it is.
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
        }
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    pub(super) const fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending)
    }

    pub(super) fn next_wake(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Running => self.telling.is_none().then_some(self.progress_at),
            Phase::Ending => None,
            Phase::Reporting(outgoing) => (!outgoing.is_on_its_way).then_some(outgoing.next_at),
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

const DONE_MAX: usize = 1_024;
