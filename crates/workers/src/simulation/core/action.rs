//! Actions of the core, and the types of its events.

use super::{super::Task, Refusal, Trouble};
use muster_contract_simulation::{FailRequest, HeartbeatRequest, ProgressRequest, RebindRequest};
use muster_model::{Millis, Ratio};
use muster_worker_kit::Text;
use std::sync::Arc;

/// Something to be done outside the core.
///
/// Whatever carries a number is answered by that number, and always: where nothing came back, with
/// [`super::Trouble::NoAnswer`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Register and say [`super::Core::registered`]. No call that is still on its way matters any more.
    Register(u64),
    /// Tell the master that the worker lives and say [`super::Core::beaten`] (S2).
    Beat(Beat),
    /// Tell a new master what is held here and say [`super::Core::rebound`] (S19).
    Rebind(Rebind),
    /// Ask for a task and say [`super::Core::pulled`] (S3).
    Pull {
        /// Recognises the answer.
        number: u64,
        /// Time that the master may hold the response back.
        wait: Millis,
    },
    /// Render; [`super::Core::progressed`] and [`super::Core::ended`] tell how it goes.
    Begin(Work),
    /// End the work with this number; [`super::Core::ended`] says when nothing of it runs any more.
    Kill(u64),
    /// Render no faster than this part of the frame rate, from now on; at 0 not at all (S10).
    Pace(Ratio),
    /// Tell how far a work is and say [`super::Core::told`] (S4).
    Progress(Progress),
    /// Hand in the result of a work and say [`super::Core::sent`] (S5, S5b).
    Send {
        /// The work.
        work: u64,
        /// The report.
        report: Report,
    },
    /// Take leave of the master and say [`super::Core::unregistered`] (S6).
    Unregister(u64),
    /// Tell people.
    Note(Note),
}

/// A heartbeat to be sent (S2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Recognises the response.
    pub number: u64,
    /// The heartbeat.
    pub request: HeartbeatRequest,
}

/// Message of a worker to a master of a newer term (S19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebind {
    /// Recognises the answer.
    pub number: u64,
    /// The newest term that was heard of.
    pub epoch: u64,
    /// The held tasks, the oldest first.
    pub tasks: Vec<Arc<Task>>,
    /// The last frame that was made.
    pub last_frame: Option<u64>,
    /// State of the worker, as the master last said.
    pub state: Text,
}

/// A task in execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Tells works apart within one life of the worker.
    pub number: u64,
    /// The task.
    pub task: Arc<Task>,
}

/// A report of progress to be sent (S4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Recognises the response.
    pub number: u64,
    /// The report.
    pub request: ProgressRequest,
}

/// Result of a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It is done (S5).
    Complete {
        /// Its id.
        task: Text,
        /// JSON.
        body: Text,
    },
    /// It failed (S5b).
    Fail {
        /// Its id.
        task: Text,
        /// The attempt.
        attempt: u16,
        /// Reason, for people.
        error: Text,
    },
}

impl Rebind {
    /// The request for one of the held tasks, or for none: the contract has room for one task only (S19).
    #[must_use]
    pub fn request(&self, worker: Text, task: Option<Arc<Task>>) -> RebindRequest {
        let (epoch, last_frame, state) = (self.epoch, self.last_frame, self.state.clone());
        RebindRequest { worker, epoch, task, last_frame, state }
    }
}

impl Report {
    /// The body of the request.
    #[must_use]
    pub fn body(&self, worker: &Text) -> Vec<u8> {
        match self {
            Self::Complete { body, .. } => body.as_bytes().to_vec(),
            Self::Fail { attempt, error, .. } => {
                let (worker, error) = (worker.clone(), error.clone());
                FailRequest { worker, attempt: Some(*attempt), error }.to_bytes()
            }
        }
    }
}

/// A master's response to a registration (S1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Interval of heartbeats.
    pub interval: Millis,
    /// Its term.
    pub epoch: u64,
}

/// Progress of a renderer; every number counts from the beginning of its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Frames done.
    pub processed: u64,
    /// The last of them.
    pub last_frame: Option<u64>,
    /// Frames left out.
    pub dropped: u64,
    /// Fill level of its queue.
    pub queue: Ratio,
    /// Load of its GPU.
    pub gpu: Ratio,
}

/// End of a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All is rendered and on disk; the body is what the master shall be told, the same at every try.
    Finished {
        /// JSON (S5).
        body: Text,
    },
    /// Something went wrong.
    Failed {
        /// The problem, for people.
        error: Text,
    },
    /// It was killed, as asked.
    Stopped,
}

/// A message for the log.
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
    /// The state has changed.
    State(Text),
    /// The pace of rendering has changed.
    Paced(Ratio),
    /// It was given a task and does not do it.
    NotTaken {
        /// Its id.
        task: Option<Text>,
        /// The reason.
        why: Text,
    },
    /// The master wants a task stopped.
    Stopping {
        /// Its id.
        task: Text,
    },
    /// The master took a result.
    Taken(Report),
    /// The master did not take a result, and never will.
    GivenUp {
        /// The report.
        report: Report,
        /// The reason.
        refusal: Refusal,
    },
}

/// Reason why a worker stopped its tasks and registers anew (S8).
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

/// Response to a pushed task (S3).
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
        /// The reason.
        why: Text,
    },
    /// The worker is not registered at the moment, or about to leave.
    Away,
}

/// Reason why a worker has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// It was asked to leave.
    Left,
    /// The master will have none of it.
    Refused(Refusal),
}

/// Status of a worker, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// State, as the master says; nothing while it is not registered.
    pub state: Option<Text>,
    /// The newest term that was heard of.
    pub epoch: u64,
    /// Tasks held.
    pub held: usize,
    /// Pace of rendering.
    pub pace: Ratio,
    /// Frames made in all.
    pub frames: u64,
    /// True if the last heartbeat was answered.
    pub reachable: bool,
    /// True if it was asked to leave.
    pub leaving: bool,
}
