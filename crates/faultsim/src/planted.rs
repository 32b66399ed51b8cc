//! Bugs that can be switched on, to prove that the checks bite.

use muster_engine::Mutant;
use muster_problem::WireMutant;

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// In the engine's rules.
    Engine(Mutant),
    /// In parsing or phrasing.
    Wire(WireMutant),
    /// Answers leave before their batch is durable.
    AnswersBeforeCommit,
    /// The feed tells what is not durable yet.
    FeedBeforeCommit,
    /// A restart takes up the feed's numbers one too early.
    FeedNumberReused,
    /// An agent lets go of an event when it leaves, not when it was taken (N19).
    AckedBeforeTaken,
    /// An agent begins work whose start is not on disk yet (N19, N22b).
    BegunBeforeDurable,
    /// A sync says that everything is durable and has done nothing (N19).
    SyncLies,
    /// A snapshot tells of the agent as it was at the one before (N22b).
    SnapshotStale,
    /// A restarted agent does not send what it finds in its spool (N19).
    ResendForgotten,
    /// A restarted agent does not know what it had begun (N22b).
    RestartNotReported,
    /// The older attempt counts as over while it still runs, and the newer begins beside it (N18).
    TwoOnOneDevice,
    /// An agent believes in one slot more than it has (N18).
    OneSlotTooMany,
    /// An event leaves together with the one before it (N19).
    Overtaking,
    /// An event that nobody answers is put aside (N19).
    SilenceSetAside,
    /// An agent asks for work before it has told what it owes (N20).
    RecoveryForgotten,
    /// A server commits though a newer term has begun (S18).
    FenceIgnored,
    /// A request that needs no commit is answered even if another server may lead by now (S18).
    AnswersAfterLease,
    /// A lease counts from when the leader hears of it, not from when it asked (S18).
    LeaseFromAnswer,
    /// A leader that is told that it leads no more goes on (S18).
    DeposedGoesOn,
    /// The preloaded state is used though something was written since (S18).
    PreloadTrusted,
    /// A takeover keeps the epoch (S18).
    EpochKept,
    /// A follower that could see nothing, or only what was long ago, takes that for silence (S18).
    BlindnessForgotten,
    /// A term begins by the clock on its server's wall (S18).
    OwnWallClock,
    /// A worker of sessions cannot tell that a task is of an older term (S18).
    OlderTermObeyed,
}

impl Planted {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let wire = WireMutant::ALL.iter().copied().map(Self::Wire);
        Mutant::ALL.iter().copied().map(Self::Engine).chain(wire).chain(AROUND)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Engine(mutant) => format!("{mutant:?}"),
            Self::Wire(mutant) => format!("{mutant:?}"),
            around => format!("{around:?}"),
        }
    }
}

/// Those that the world plays around the engine, around the cores of agents and workers, and between servers.
const AROUND: [Planted; 23] = [
    Planted::AnswersBeforeCommit,
    Planted::FeedBeforeCommit,
    Planted::FeedNumberReused,
    Planted::AckedBeforeTaken,
    Planted::BegunBeforeDurable,
    Planted::SyncLies,
    Planted::SnapshotStale,
    Planted::ResendForgotten,
    Planted::RestartNotReported,
    Planted::TwoOnOneDevice,
    Planted::OneSlotTooMany,
    Planted::Overtaking,
    Planted::SilenceSetAside,
    Planted::RecoveryForgotten,
    Planted::FenceIgnored,
    Planted::AnswersAfterLease,
    Planted::LeaseFromAnswer,
    Planted::DeposedGoesOn,
    Planted::PreloadTrusted,
    Planted::EpochKept,
    Planted::BlindnessForgotten,
    Planted::OwnWallClock,
    Planted::OlderTermObeyed,
];
