//! What the core wants done, and what it is told in return.

use super::Event;
use crate::{Attached, Job, Text};
use muster_model::{Millis, Timestamp};
pub use muster_worker_kit::Refusal;

/// Something to be done outside the core. Order matters for `Append` only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Append to the spool as this number and say [`super::Core::durable`] once it is on disk.
    Append(u64, Box<Event>),
    /// Let go of a spooled event.
    Ack(u64),
    /// Put a spooled event aside for a person.
    SetAside(u64, Refusal),
    /// Send a spooled event and say [`super::Core::sent`].
    Send(u64),
    /// Ask the backend for work and say [`super::Core::pulled`].
    Pull(PullRequest),
    /// Tell the backend that the node lives; nobody waits for the answer (N8).
    Heartbeat(Heartbeat),
    /// Execute a job; [`super::Core::stepped`] and [`super::Core::ended`] tell how it goes.
    Begin(Work),
    /// End the work with this number; [`super::Core::ended`] says when nothing of it runs any more.
    Kill(u64),
}

/// A job in execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Tells works apart within one life of the agent.
    pub number: u64,
    /// What to do.
    pub job: Job,
    /// Whatever reaches the device now.
    pub handle: Text,
}

/// A request for work (N1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Recognises the answer.
    pub number: u64,
    /// At most so many jobs; 0 is a mere report.
    pub max_jobs: u32,
    /// How long the backend may hold the answer back.
    pub wait: Option<Millis>,
    /// All devices attached, where they are reported.
    pub devices: Option<Vec<Attached>>,
}

/// What a backend answers to a pull (N1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullAnswer {
    /// Runs of which this answer carries the node's first job.
    pub runs: Vec<RunOffer>,
    /// Jobs to execute.
    pub jobs: Vec<Job>,
    /// Runs that hold nothing more for this node.
    pub finished_runs: Vec<Text>,
    /// Tasks to end.
    pub stop: Vec<Text>,
    /// More about those of `stop` that a backend thinks are running here; muster's tells, others need not.
    pub stop_jobs: Vec<Job>,
    /// What whoever runs the node should look at; muster's tells, others need not.
    pub warnings: Vec<Text>,
}

/// A run new to the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOffer {
    /// Which.
    pub run: Text,
    /// Its devices at this node.
    pub targets: u64,
    /// How many may run at once here.
    pub max_concurrency: u64,
}

/// A node's account of itself (N8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// When.
    pub at: Timestamp,
    /// Devices that are online.
    pub connected: u64,
    /// Devices with a running job.
    pub running: u64,
    /// Targets of the open runs here not yet started (N8b).
    pub queued: u64,
    /// Reports have not reached the backend for a while (N20).
    pub degraded: bool,
}

/// What became of a sent event (N19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// 2xx.
    Taken,
    /// A 4xx that trying again will not change.
    Refused(Refusal),
    /// 401, 408, 429 or 5xx: not now; not before the given span, where the backend gave one.
    Later(Option<Millis>),
    /// None came.
    None,
}

/// No usable answer came to a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAnswer;

/// What happens to running tasks when the agent is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// They end by themselves.
    Finish,
    /// They are ended and reported, so that others may have them.
    HandBack,
}

/// How the agent is, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Devices attached.
    pub devices: usize,
    /// Those that are online.
    pub online: usize,
    /// Tasks in execution.
    pub running: usize,
    /// Tasks that wait for their device or a slot.
    pub queued: usize,
    /// Events that no backend has taken.
    pub spooled: usize,
    /// Reports have not reached the backend for a while (N20).
    pub degraded: bool,
    /// The backend is back and hears first what it missed.
    pub recovering: bool,
    /// The spool cannot be written: nothing new is begun.
    pub spool_full: bool,
    /// No new work is taken.
    pub draining: bool,
    /// The last pull was answered.
    pub reachable: bool,
}
