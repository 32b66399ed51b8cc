//! What the core says to people, and to whoever asks it.

use super::{Refusal, Report, Trouble};
use muster_model::Ratio;
use muster_worker_kit::Text;

/// What people should read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// It is registered.
    Registered {
        /// In which term.
        epoch: u64,
    },
    /// It could not register.
    NotRegistered(Trouble),
    /// A master of a term that is over answered.
    StaleMaster {
        /// Of which.
        epoch: u64,
    },
    /// It stopped what it was at and registers anew.
    Lost(Loss),
    /// Where it stands has changed.
    State(Text),
    /// How fast it may render has changed.
    Paced(Ratio),
    /// It was given a task and does not do it.
    NotTaken {
        /// Which.
        task: Option<Text>,
        /// Why.
        why: Text,
    },
    /// The master wants a task stopped.
    Stopping {
        /// Which.
        task: Text,
    },
    /// The master took a result.
    Taken(Report),
    /// The master did not take a result, and never will.
    GivenUp {
        /// What.
        report: Report,
        /// Why.
        refusal: Refusal,
    },
}

/// Why a worker stopped what it was at and registers anew (S8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its heartbeats found nobody.
    Unreachable,
    /// It did not run for so long that the master must have given it up.
    Stalled,
    /// The master said so.
    Ordered,
    /// The master does not know its token, or it.
    Unknown,
}

/// What becomes of a task that was pushed (S3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is held here, now or for a while.
    Taken,
    /// All slots are in use.
    Full,
    /// It is of an older term than this one.
    Stale {
        /// The newest that was heard of.
        epoch: u64,
    },
    /// It cannot be done here.
    Wrong {
        /// Why.
        why: Text,
    },
    /// The worker is not registered at the moment, or about to leave.
    Away,
}

/// Why a worker is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// It was asked to leave.
    Left,
    /// The master will have none of it.
    Refused(Refusal),
}

/// How a worker is, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Where it stands, as the master says; nothing while it is not registered.
    pub state: Option<Text>,
    /// The newest term that was heard of.
    pub epoch: u64,
    /// Tasks held.
    pub held: usize,
    /// How fast it may render.
    pub pace: Ratio,
    /// Frames made in all.
    pub frames: u64,
    /// Whether the last heartbeat was answered.
    pub reachable: bool,
    /// Whether it was asked to leave.
    pub leaving: bool,
}
