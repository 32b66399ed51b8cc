//! What the core is told: answers of the server, what is on disk, and how execution goes.

use super::super::Assignment;
use super::Outcome;
use muster_worker_kit::Text;

/// A worker, as a server knows it (P3, P4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its number.
    pub id: u64,
    /// What it is called.
    pub name: Text,
    /// The key that its results are checked with; one that is empty is none.
    pub key: Option<Text>,
    /// How many assignments the server gives it at once.
    pub slots: Option<u64>,
    /// When the server last heard of it (P12).
    pub last_seen: Option<Text>,
}

/// A result that an earlier life left on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spooled {
    /// Whose.
    pub worker: u64,
    /// Of which assignment.
    pub assignment: u64,
    /// As it was handed out.
    pub nonce: Text,
    /// Whether it says that the assignment failed.
    pub is_error: bool,
}

/// What a worker has started, as a server tells it (P6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// All of it: what is not among these is not the worker's any more.
    All(Vec<Assignment>),
    /// One, perhaps among others: the server does not know the question, and answered it like a poll.
    One(Assignment),
    /// More than can be: that was not read.
    TooLong,
}

/// How a submission was taken (P7, P8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Now.
    Now,
    /// Before: the very same bytes were taken already, and that answer was lost.
    Before,
}

/// How a work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Done(Outcome),
    /// It was killed, as asked.
    Stopped,
    /// It never began, for a reason that lies with this machine and not with the assignment.
    Unable(Text),
}
