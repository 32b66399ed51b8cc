//! What the agent reports, typed (N9 to N14). [`crate::wire`] gives it the contract's shape.

use super::{
    Core,
    action::{Action, Answer},
    outbox::{self, Left},
};
use crate::{Artifact, Job, StepStatus, Text};
use muster_model::{FailureReason, Millis, Timestamp};

/// A callback that must not be lost; heartbeats are none (N19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The same however often it is sent (N5).
    pub id: Text,
    /// When it became true, by the agent's clock.
    pub at: Timestamp,
    /// What became true.
    pub kind: EventKind,
}

/// What became true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The first job of a run has come (N9).
    RunStarted {
        /// Which.
        run: Text,
        /// Its devices at this node.
        targets: u64,
        /// How many may run at once here.
        max_concurrency: u64,
    },
    /// A device begins with a task (N10).
    TaskStarted {
        /// Which attempt.
        attempt: Attempt,
        /// What it executes.
        workflow: Text,
        /// How long it may take.
        timeout: Millis,
    },
    /// A step of a task begins or is over (N11).
    TaskProgress {
        /// Which attempt.
        attempt: Attempt,
        /// The step's id.
        step: Text,
        /// Where it stands.
        status: StepStatus,
    },
    /// A task is over on its device (N12).
    TaskFinished {
        /// Which attempt.
        attempt: Attempt,
        /// When it began.
        started_at: Timestamp,
        /// Exit of the program.
        outcome: Outcome,
    },
    /// A run holds nothing more for this node (N14).
    RunFinished {
        /// Which.
        run: Text,
        /// What became of its tasks here.
        summary: Summary,
    },
}

/// One attempt of one task, with its fence (N6b).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Of which run.
    pub run: Text,
    /// Which task.
    pub task: Text,
    /// On which device.
    pub device: Text,
    /// By which handle.
    pub handle: Text,
    /// The nth try.
    pub number: u32,
    /// Proof of the lease, where the backend gave one.
    pub token: Option<Text>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Succeeded {
        /// What was uploaded.
        artifact: Option<Artifact>,
    },
    /// Badly.
    Failed {
        /// One of the contract's words (N13).
        reason: FailureReason,
        /// For people; begins with `timeout: ` where time ran out.
        error: Text,
    },
}

/// What became of a run's tasks at this node, each by its last attempt here (N14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Tasks that ended well.
    pub succeeded: u64,
    /// Tasks that ended badly.
    pub failed: u64,
    /// Those of the failed that ran out of time.
    pub timeout: u64,
}

impl Attempt {
    /// The attempt that a job is, by the handle that reaches its device now.
    pub(crate) fn of(job: &Job, handle: &Text) -> Self {
        Self {
            run: job.run.clone(),
            task: job.task.clone(),
            device: job.device.clone(),
            handle: handle.clone(),
            number: job.attempt,
            token: job.token.clone(),
        }
    }
}

impl Outcome {
    /// Whether it counts as a timeout (N14).
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Failed { error, .. } if error.starts_with(TIMEOUT))
    }
}

impl EventKind {
    /// The run that it belongs to.
    #[must_use]
    pub fn run(&self) -> &Text {
        match self {
            Self::RunStarted { run, .. } | Self::RunFinished { run, .. } => run,
            Self::TaskStarted { attempt, .. }
            | Self::TaskProgress { attempt, .. }
            | Self::TaskFinished { attempt, .. } => &attempt.run,
        }
    }

    /// The attempt that it speaks of, if of one.
    #[must_use]
    pub const fn attempt(&self) -> Option<&Attempt> {
        match self {
            Self::RunStarted { .. } | Self::RunFinished { .. } => None,
            Self::TaskStarted { attempt, .. }
            | Self::TaskProgress { attempt, .. }
            | Self::TaskFinished { attempt, .. } => Some(attempt),
        }
    }
}

impl Core {
    /// What became of an event that was sent.
    pub fn sent(&mut self, number: u64, answer: Answer, now: Timestamp) {
        match answer {
            Answer::Taken => {
                if self.answered(number, now).is_some() {
                    self.actions.push_back(Action::Ack(number));
                }
            }
            Answer::Refused(refusal) => {
                if let Some(left) = self.answered(number, now) {
                    if let Some((task, attempt)) = left.task {
                        self.give_up(&task, attempt, outbox::words(&refusal));
                    }
                    self.actions.push_back(Action::SetAside(number, refusal));
                }
            }
            Answer::Later(retry_after) => self.put_off(number, Some(retry_after), now),
            Answer::None => self.put_off(number, None, now),
        }
        self.settle(now);
    }

    /// Writes down what became true; it leaves once it is on disk.
    pub(super) fn report(&mut self, kind: EventKind, now: Timestamp) -> u64 {
        self.last_event += 1;
        let number = self.last_event;
        let event = Event { id: format!("{}/{number}", self.spool_id).into(), at: now, kind };
        self.books.apply(number, &event);
        self.outbox.push(number, &event, false);
        self.actions.push_back(Action::Append(number, Box::new(event)));
        number
    }

    /// Sends what may leave.
    pub(super) fn pump(&mut self, now: Timestamp) {
        if self.link.opens_at() > now {
            return;
        }
        for number in self.outbox.choose(self.sends_at_once(), now) {
            self.actions.push_back(Action::Send(number));
        }
    }

    /// While nobody answers, one event at a time is enough to find out.
    pub(super) const fn sends_at_once(&self) -> usize {
        if self.link.is_in_doubt() { 1 } else { self.settings.sends }
    }

    fn answered(&mut self, number: u64, now: Timestamp) -> Option<Left> {
        let left = self.outbox.remove(number)?;
        self.books.closing_taken(number, now);
        self.link.answered(self.outbox.newest().unwrap_or(0));
        self.link.drained_to(self.outbox.oldest_expected());
        Some(left)
    }

    fn put_off(&mut self, number: u64, answered: Option<Option<Millis>>, now: Timestamp) {
        // Whoever is not reached by pulls either is away, whatever is said in its place: that is not the event's fault.
        let is_put_off = answered.is_some() && self.pulls.is_reachable();
        if let Some(sent_at) = self.outbox.failed(number, is_put_off, now) {
            self.link.failed(sent_at, answered.flatten(), now);
            self.link.drained_to(self.outbox.oldest_expected());
        }
    }
}

/// What the error of a task begins with that ran out of time (N13).
pub const TIMEOUT: &str = "timeout: ";
