//! Actions of the core, and the types of its events.

use super::{super::Assignment, Refusal};
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
        /// The worker.
        worker: u64,
    },
    /// Ask what the worker has started and say [`super::Core::resumed`] (P6).
    Resume {
        /// Recognises the answer.
        number: u64,
        /// The worker.
        worker: u64,
        /// Upper limit of these.
        at_most: u32,
    },
    /// Ask for an assignment, have it started, and say [`super::Core::polled`] (P6).
    Poll {
        /// Recognises the answer.
        number: u64,
        /// The worker.
        worker: u64,
        /// Time that the server may hold the response back.
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
    /// Submit the results of these entries with one signature over all of them, and say
    /// [`super::Core::submitted_batch`] (P20).
    SubmitBatch {
        /// The worker that submits.
        worker: u64,
        /// The entries, in this order.
        entries: Vec<u64>,
    },
    /// This entry has done its service.
    Ack(u64),
    /// The server will never take this entry: keep it apart, for people.
    SetAside {
        /// The entry.
        entry: u64,
        /// The reason.
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
    /// The assignment.
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
    /// The result.
    pub outcome: Outcome,
}

/// Result of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This JSON object, in its canonical form (P10).
    Output(Text),
    /// It failed, for this reason.
    Error(Text),
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
    /// True if it says that the assignment failed.
    pub is_error: bool,
}

/// Started assignments of a worker, as the server lists them (P6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Started {
    /// All of it: what is not among these is not the worker's any more.
    All(Vec<Assignment>),
    /// One, perhaps among others: the server does not know the question, and answered it like a poll.
    One(Assignment),
    /// More than can be: that was not read.
    TooLong,
}

/// The way in which a submission was accepted (P7, P8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Now.
    Now,
    /// Before: the very same bytes were taken already, and that answer was lost.
    Before,
}

/// End of a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Done(Outcome),
    /// It was killed, as asked.
    Stopped,
    /// It never began, for a reason that lies with this machine and not with the assignment.
    Unable(Text),
}

/// A message for the log.
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
        /// The number.
        theirs: u64,
    },
    /// The next key is in the place of the old one.
    KeyReplaced,
    /// The next key could not be put in the place of the old one.
    KeyNotReplaced {
        /// The reason.
        why: Text,
    },
    /// Assignments that were started before are executed again.
    Resumed {
        /// The number.
        assignments: usize,
    },
    /// This machine could not begin an assignment; it is tried again.
    Unable {
        /// Its id.
        assignment: u64,
        /// The reason.
        why: Text,
    },
    /// The server has an assignment no longer that is executed here.
    Dropped {
        /// Its id.
        assignment: u64,
    },
    /// A call was refused, in a way that is no end of anything.
    Refused(Refusal),
    /// The server took a result.
    Taken {
        /// Of which assignment.
        assignment: u64,
        /// Reason of the failure, where the assignment failed.
        error: Option<Text>,
        /// Now, or before.
        how: Submitted,
    },
    /// The server will never take a result; it is kept apart.
    SetAside {
        /// Of which assignment.
        assignment: u64,
        /// The reason.
        refusal: Refusal,
    },
}

/// Reason why a worker has ended.
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
    /// The list of its started assignments is longer than a response may be.
    TooLong,
    /// The results on disk are another worker's.
    OtherSpool {
        /// Whose.
        worker: u64,
    },
}

/// Status of a worker, for people.
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
    /// Counts of results in this life.
    pub counts: Counts,
    /// True if the spool can be written.
    pub can_store: bool,
    /// True if this machine can begin what it is given.
    pub is_able: bool,
    /// True if the server answers.
    pub reachable: bool,
    /// True if it was asked to leave.
    pub leaving: bool,
}

/// Counts of results.
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
