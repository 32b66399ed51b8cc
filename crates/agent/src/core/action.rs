//! Actions of the core, and the types of its events.

use crate::{Attached, Job, StepStatus, Text};
use muster_contract_nodes::{Artifact, CallbackResult, Event, Heartbeat, read_callbacks_answer, write_pull};
use muster_model::{FailureReason, Millis};
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
    /// Send spooled events in one request, in this order, and say [`super::Core::sent`].
    Send(Vec<u64>),
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
    /// The job.
    pub job: Job,
    /// Whatever reaches the device now.
    pub handle: Text,
}

/// A step of a work, and where it stands (N11).
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The step's id.
    pub step: &'a str,
    /// Its state.
    pub status: StepStatus,
}

/// A request for work (N1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Recognises the answer.
    pub number: u64,
    /// At most so many jobs; 0 is a mere report.
    pub max_jobs: u32,
    /// Time that the backend may hold the response back.
    pub wait: Option<Millis>,
    /// All devices attached, where they are reported.
    pub devices: Option<Vec<Attached>>,
}

/// Response to an event (N19).
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
    /// The event was not sent, because it did not fit into the request.
    Unsent,
    /// The backend refused a request with several events as a whole, whatever the events say: each is sent alone (N25).
    Separately,
}

/// The response to a request with several events (N25).
#[derive(Clone, Copy, Debug)]
pub struct BatchResponse<'a> {
    /// The HTTP status.
    pub status: u16,
    /// Pause that the backend asks for.
    pub retry_after: Option<Millis>,
    /// The body.
    pub body: &'a [u8],
}

impl BatchResponse<'_> {
    /// The answers to so many events, in their order. Nothing is set aside because of a refusal of the whole request, and
    /// a success that does not say what became of each event acks none: what was taken is recognised when it comes again.
    #[must_use]
    pub fn answers(&self, count: usize) -> Vec<Answer> {
        match Answer::of(self.status, self.retry_after) {
            Answer::Taken => read_callbacks_answer(self.body, count).map_or_else(
                |_| vec![Answer::Separately; count],
                |results| results.iter().map(Answer::of_result).collect(),
            ),
            Answer::Refused(_) => vec![Answer::Separately; count],
            other => vec![other; count],
        }
    }
}

impl Answer {
    /// The meaning of the result of one of several events.
    fn of_result(result: &CallbackResult) -> Self {
        if result.ok {
            return Self::Taken;
        }
        match Self::of(result.status.unwrap_or(500), None) {
            Self::Refused(refusal) => Self::Refused(Refusal {
                detail: result.detail.as_deref().unwrap_or_default().into(),
                ..refusal
            }),
            Self::Taken => Self::Later(None),
            other => other,
        }
    }

    /// The meaning of a status (N19). A refusal has no detail yet. A redirect is no business of an event's: it is sent again.
    #[must_use]
    pub fn of(status: u16, retry_after: Option<Millis>) -> Self {
        match status {
            200..300 => Self::Taken,
            401 | 408 | 429 => Self::Later(retry_after),
            400..500 => Self::Refused(Refusal { status, detail: "".into() }),
            _ => Self::Later(retry_after),
        }
    }
}

impl PullRequest {
    /// Writes the body of the request.
    #[must_use]
    pub fn write(&self, node: &str) -> Vec<u8> {
        write_pull(node, self.max_jobs, self.wait, self.devices.as_deref())
    }
}

/// No usable answer came to a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAnswer;

/// Treatment of running tasks when the agent is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// They end by themselves.
    Finish,
    /// They are ended and reported, so that others may have them.
    HandBack,
}

/// Status of the agent, for people.
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

/// End of the execution of a job. Nothing of it runs any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every step that had to succeed did.
    Succeeded {
        /// The uploaded artifact.
        artifact: Option<Artifact>,
    },
    /// A step failed for good.
    Failed {
        /// One of the contract's words (N13).
        reason: FailureReason,
        /// For people.
        error: String,
        /// The step ran out of time; `error` then begins with `timeout: `.
        timed_out: bool,
    },
    /// It was cancelled from outside.
    Stopped {
        /// Reason that the interrupted step stands for when time runs out in it.
        reason: FailureReason,
    },
}

/// Cuts an error to what every backend takes (N12) and people read.
pub(crate) fn bounded(error: &str) -> &str {
    &error[..error.floor_char_boundary(ERROR_BYTES_MAX)]
}

const ERROR_BYTES_MAX: usize = 4 * 1024;
