//! What the core wants done.

use super::{super::Task, Note, Seen};
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
        /// How long the master may hold the answer back.
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
        /// Which work.
        work: u64,
        /// What.
        report: Report,
    },
    /// Take leave of the master and say [`super::Core::unregistered`] (S6).
    Unregister(u64),
    /// Tell people.
    Note(Note),
}

/// A sign of life (S2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// Recognises the answer.
    pub number: u64,
    /// How full the fullest queue is.
    pub queue: Ratio,
    /// How busy the GPU is, as the renderers say.
    pub gpu: Ratio,
    /// The last frame that was made.
    pub last_frame: Option<u64>,
    /// In a word.
    pub status: &'static str,
    /// How long the previous one took.
    pub rtt: Option<Millis>,
}

/// What a worker tells a master of a newer term (S19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebind {
    /// Recognises the answer.
    pub number: u64,
    /// The newest term that was heard of.
    pub epoch: u64,
    /// What is held, the oldest first.
    pub tasks: Vec<Arc<Task>>,
    /// The last frame that was made.
    pub last_frame: Option<u64>,
    /// Where the worker stands, as it was last told.
    pub state: Text,
}

/// A task in execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Tells works apart within one life of the worker.
    pub number: u64,
    /// What to do.
    pub task: Arc<Task>,
}

/// How far a work is (S4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Recognises the answer.
    pub number: u64,
    /// Of which task.
    pub task: Arc<Task>,
    /// How far.
    pub seen: Seen,
    /// How full its queue was at most since the last one.
    pub queue_max: Ratio,
    /// What is worth a line in the log of the master.
    pub diagnostics: Vec<Text>,
}

/// What a work came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It is done (S5).
    Complete {
        /// Which.
        task: Text,
        /// JSON.
        body: Text,
    },
    /// It failed (S5b).
    Fail {
        /// Which.
        task: Text,
        /// Which try.
        attempt: u32,
        /// Why, for people.
        error: Text,
    },
}
