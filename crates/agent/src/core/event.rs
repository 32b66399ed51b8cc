//! What the agent reports, typed (N9 to N14). [`crate::wire`] gives it the contract's shape.

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
        /// How it ended.
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

/// What the error of a task begins with that ran out of time (N13).
pub const TIMEOUT: &str = "timeout: ";
