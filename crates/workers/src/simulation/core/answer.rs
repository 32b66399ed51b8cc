//! What the core is told: answers of the master, and how rendering goes.

use super::super::Task;
use muster_model::{Millis, Ratio};
use muster_worker_kit::Text;
pub use muster_worker_kit::{Refusal, Trouble};

/// What a master answers to a registration (S1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// How often it wants to hear of the worker.
    pub interval: Millis,
    /// Its term.
    pub epoch: u64,
}

/// What a master answers to a heartbeat or a rebind (S2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Where the worker stands.
    pub state: Option<Text>,
    /// The master's term.
    pub epoch: Option<u64>,
    /// How fast it may render.
    pub pace: Option<Ratio>,
    /// What it is to do.
    pub orders: Vec<Order>,
}

/// One of `commands[]` (S2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Tell what is held here.
    Rebind,
    /// Stop everything and register anew.
    Reregister,
    /// Stand still.
    Pause,
    /// Go on.
    Resume,
    /// End this task.
    Stop(Text),
}

/// What a master answers to a pull (S3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// Nothing for now.
    Nothing,
    /// A task.
    Task(Box<Task>),
    /// Something that cannot be one.
    Wrong {
        /// Which, where that can be told.
        task: Option<(Text, u32)>,
        /// Why not.
        why: Text,
    },
}

/// How far a renderer is; every number counts from the beginning of its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Frames done.
    pub processed: u64,
    /// The last of them.
    pub last_frame: Option<u64>,
    /// Frames left out.
    pub dropped: u64,
    /// How full its queue is.
    pub queue: Ratio,
    /// How busy its GPU is.
    pub gpu: Ratio,
}

/// How a work ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// All is rendered and on disk; the body is what the master shall be told, the same at every try.
    Finished {
        /// JSON (S5).
        body: Text,
    },
    /// Something went wrong.
    Failed {
        /// What, for people.
        error: Text,
    },
    /// It was killed, as asked.
    Stopped,
}
