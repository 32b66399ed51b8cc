//! A task that is held here, from the moment it is taken until the master has its result.

use super::super::Task;
use super::{Report, Seen, link::BACKOFF};
use muster_model::{Millis, Ratio, Timestamp};
use muster_worker_kit::Text;
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
    /// The frames that the last progress told of.
    pub(super) told_processed: u64,
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
            told_processed: 0,
        }
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    pub(super) const fn is_ending(&self) -> bool {
        matches!(self.phase, Phase::Ending)
    }

    /// Whether a failure waits for a progress. The master takes the frame after those that were done for the one that
    /// failed (S26b), so it must hear of them first.
    pub(super) fn awaits_progress(&self) -> bool {
        let is_telling = self.telling.is_some();
        self.failure().is_some_and(|failure| is_telling || self.owes_progress(failure))
    }

    /// Whether a progress must be sent now.
    pub(super) fn is_progress_due(&self, now: Timestamp) -> bool {
        let is_due = match (&self.phase, self.failure()) {
            (Phase::Running, _) => self.progress_at <= now,
            (_, Some(failure)) => self.owes_progress(failure) && failure.next_at <= now,
            _ => false,
        };
        is_due && self.telling.is_none()
    }

    /// Nobody knows whether the master heard of the last progress. A failure that waited for it waits for another one.
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

const DONE_MAX: usize = 1_024;
/// A master that never answers a progress is told of the failure anyway.
const PROGRESS_TRIES_MAX: u32 = 3;
