//! What the core wants done.

use super::super::Assignment;
use super::Note;
use muster_model::Millis;
use muster_worker_kit::Text;
use std::sync::Arc;

/// Something to be done outside the core.
///
/// Whatever carries a number is answered by that number, and always: where nothing came back, with
/// [`super::Trouble::NoAnswer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Log in with name and password and say [`super::Core::admitted`] (P1).
    LogIn(u64),
    /// Have the token renewed and say [`super::Core::admitted`] (P1).
    Renew(u64),
    /// List the owner's workers and say [`super::Core::listed`] (P4).
    List(u64),
    /// Register and say [`super::Core::registered`] (P3).
    Register(u64),
    /// Give the server a worker's key and say [`super::Core::key_given`]. Whatever was acked before must be on disk
    /// first: a result that comes back after that would bear a signature that the server no longer takes.
    GiveKey {
        /// Recognises the answer.
        number: u64,
        /// Whose.
        worker: u64,
        /// The public half.
        key: Text,
    },
    /// Put the next key in the place of the one that it replaces, at once and durably, sign with it from now on, and
    /// say [`super::Core::replaced`].
    ReplaceKey(u64),
    /// Tell the server that the worker lives and say [`super::Core::beaten`] (P5).
    Beat {
        /// Recognises the answer.
        number: u64,
        /// Which worker.
        worker: u64,
    },
    /// Ask what the worker has started and say [`super::Core::resumed`] (P6).
    Resume {
        /// Recognises the answer.
        number: u64,
        /// Which worker.
        worker: u64,
        /// How many that can be.
        at_most: u32,
    },
    /// Ask for an assignment, have it started, and say [`super::Core::polled`] (P6).
    Poll {
        /// Recognises the answer.
        number: u64,
        /// Which worker.
        worker: u64,
        /// How long the server may hold the answer back.
        wait: Millis,
    },
    /// Take the poll with this number back: nobody waits for its answer any more.
    TakeBack(u64),
    /// Execute; [`super::Core::ended`] says when nothing of it runs any more.
    Begin(Work),
    /// End the work with this number; [`super::Core::ended`] says when nothing of it runs any more.
    Kill(u64),
    /// Sign a result, write the body to disk, and say [`super::Core::stored`] when it is there for good.
    Store(Submission),
    /// Submit the bytes of this entry as they are on disk and say [`super::Core::submitted`] (P7).
    Submit(u64),
    /// This entry has done its service.
    Ack(u64),
    /// The server will never take this entry: keep it apart, for people.
    SetAside {
        /// Which entry.
        entry: u64,
        /// Why.
        why: Text,
    },
    /// Tell people.
    Note(Note),
}

/// An assignment in execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Tells works apart within one life of the worker.
    pub number: u64,
    /// As which worker.
    pub worker: u64,
    /// What to do.
    pub assignment: Arc<Assignment>,
}

/// A result that is to be signed and written down (P7, P9).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The entry that holds it from now on.
    pub entry: u64,
    /// Whose result.
    pub worker: u64,
    /// Of which assignment.
    pub assignment: u64,
    /// As it was handed out.
    pub nonce: Text,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This JSON object, in its canonical form (P10).
    Output(Text),
    /// It failed, for this reason.
    Error(Text),
}
