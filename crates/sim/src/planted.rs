//! Bugs that can be switched on, to prove that the checks bite.

use muster_engine::Mutant;

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// In the engine's rules.
    Engine(Mutant),
    /// Answers leave before their batch is durable.
    AnswersBeforeCommit,
    /// The feed tells what is not durable yet.
    FeedBeforeCommit,
    /// A restart takes up the feed's numbers one too early.
    FeedNumberReused,
}

impl Planted {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let around = [Self::AnswersBeforeCommit, Self::FeedBeforeCommit, Self::FeedNumberReused];
        Mutant::ALL.into_iter().map(Self::Engine).chain(around)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Engine(mutant) => format!("{mutant:?}"),
            around => format!("{around:?}"),
        }
    }
}
