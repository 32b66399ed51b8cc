//! What the core says to people, and to whoever asks it.

use super::{Refusal, Submitted};
use muster_worker_kit::Text;

/// What people should read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The server does not answer.
    Away,
    /// The server answers again.
    Back,
    /// The server knows the worker.
    Found {
        /// Its number.
        worker: u64,
        /// When the server last heard of it.
        last_seen: Option<Text>,
    },
    /// The server knows the worker from now on.
    Registered {
        /// Its number.
        worker: u64,
    },
    /// The server was told of another number of slots when the worker registered.
    OtherSlots {
        /// How many.
        theirs: u64,
    },
    /// The next key is in the place of the old one.
    KeyReplaced,
    /// The next key could not be put in the place of the old one.
    KeyNotReplaced {
        /// Why.
        why: Text,
    },
    /// What was started before is executed again.
    Resumed {
        /// How many.
        assignments: usize,
    },
    /// This machine could not begin an assignment; it is tried again.
    Unable {
        /// Which.
        assignment: u64,
        /// Why.
        why: Text,
    },
    /// The server has an assignment no longer that is executed here.
    Dropped {
        /// Which.
        assignment: u64,
    },
    /// A call was refused, in a way that is no end of anything.
    Refused(Refusal),
    /// The server took a result.
    Taken {
        /// Of which assignment.
        assignment: u64,
        /// Why the assignment failed, where it says so.
        error: Option<Text>,
        /// Now, or before.
        how: Submitted,
    },
    /// The server will never take a result; it is kept apart.
    SetAside {
        /// Of which assignment.
        assignment: u64,
        /// Why.
        refusal: Refusal,
    },
}

/// Why a worker is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// It was asked to leave.
    Left,
    /// It is not let in.
    NotAdmitted(Refusal),
    /// The server will have none of it.
    Refused(Refusal),
    /// Its name is that of another owner's worker.
    NameTaken,
    /// The server knows its name with another key.
    OtherKey {
        /// The public half of that one.
        key: Text,
    },
    /// What it has started is more than one answer may hold.
    TooLong,
    /// What is on disk is another worker's.
    OtherSpool {
        /// Whose.
        worker: u64,
    },
}

/// How a worker is, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its number at the server, once that knows it.
    pub worker: Option<u64>,
    /// Assignments in execution.
    pub running: usize,
    /// Assignments that wait for a slot.
    pub waiting: usize,
    /// Results that the server does not have yet.
    pub spooled: usize,
    /// What became of results in this life.
    pub counts: Counts,
    /// Whether the spool can be written.
    pub can_store: bool,
    /// Whether this machine can begin what it is given.
    pub is_able: bool,
    /// Whether the server answers.
    pub reachable: bool,
    /// Whether it was asked to leave.
    pub leaving: bool,
}

/// What became of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Taken, with an output.
    pub completed: u64,
    /// Taken, with an error.
    pub failed: u64,
    /// Of those taken: how many had been taken before, and the answer was lost.
    pub repeated: u64,
    /// Refused for good.
    pub aside: u64,
}
