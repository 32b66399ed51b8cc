//! Hands tasks to the coordinator's fleets and brings their ends back (C17).

use crate::config::Executor;

/// Who does a task at the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fleet {
    /// Devices, by a run.
    Run,
    /// Simulation workers, by a session.
    Session,
    /// The pool, by a job.
    Job,
}

impl Fleet {
    /// The fleet of an executor; a soldier is none.
    #[must_use]
    pub const fn of(executor: Executor) -> Option<Self> {
        match executor {
            Executor::Command => None,
            Executor::Run => Some(Self::Run),
            Executor::Session => Some(Self::Session),
            Executor::Job => Some(Self::Job),
        }
    }

    /// The word in files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Session => "session",
            Self::Job => "job",
        }
    }
}
