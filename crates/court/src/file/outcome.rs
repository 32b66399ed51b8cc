//! How a task ended (C11).

use crate::Document;

/// The word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeStatus {
    /// It was done.
    Success,
    /// It was tried and not done.
    Failed,
    /// It was ended on its way.
    Killed,
    /// It cannot go on without an answer.
    NeedsHuman,
    /// There was nothing to do.
    Skipped,
}

/// A result, as far as roles read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub status: OutcomeStatus,
    /// The whole file.
    pub document: Document,
}

impl Outcome {
    /// Reads a result that has been held against its schema.
    #[must_use]
    pub fn of(document: Document) -> Option<Self> {
        let status = OutcomeStatus::of(&document.text("status")?)?;
        Some(Self { status, document })
    }
}

impl OutcomeStatus {
    /// Reads the word in files.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        let all = [Self::Success, Self::Failed, Self::Killed, Self::NeedsHuman, Self::Skipped];
        all.into_iter().find(|status| status.word() == word)
    }

    /// The word in results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::NeedsHuman => "needs_human",
            Self::Skipped => "skipped",
        }
    }

    /// The word in a task that ended so.
    #[must_use]
    pub const fn task_status(self) -> &'static str {
        match self {
            Self::Success => "completed",
            Self::Failed | Self::Killed => "failed",
            Self::NeedsHuman => "needs_human",
            Self::Skipped => "skipped",
        }
    }
}
