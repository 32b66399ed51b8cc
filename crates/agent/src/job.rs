//! What the rooms of the agent hand each other.

use muster_model::{Attachment, FailureReason, Millis};
use muster_worker_kit::Text;

/// One attempt of one task, as a backend handed it out (N1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which task.
    pub task: Text,
    /// Of which run.
    pub run: Text,
    /// On which device: its immutable serial.
    pub device: Text,
    /// Whatever reached the device when the job was handed out.
    pub handle: Text,
    /// What to execute.
    pub workflow: Text,
    /// Parameters of the workflow: a JSON object as text.
    pub params: Text,
    /// How long it may take.
    pub timeout: Millis,
    /// The nth try.
    pub attempt: u32,
    /// Proof of the lease, where the backend gave one.
    pub token: Option<Text>,
}

/// A device as the node sees it (N1b).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Its immutable serial.
    pub device: Text,
    /// Whatever reaches it now: serial, `ip:port`, `emulator-5554`.
    pub handle: Text,
    /// Its condition; never `Absent`.
    pub attachment: Attachment,
}

/// Where a step stands (N11).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// It has begun.
    Running,
    /// It is over.
    Done,
}

/// How the execution of a job ended. Nothing of it runs any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every step that had to succeed did.
    Succeeded {
        /// What was uploaded.
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
        /// What the step it was in stands for when time runs out in it.
        reason: FailureReason,
    },
}

/// A file that a task left behind (N12, N21).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Such as `screenshot`.
    pub kind: String,
    /// Where the coordinator keeps it.
    pub storage_path: String,
    /// Where people find it.
    pub public_url: String,
}

/// Cuts an error to what every backend takes (N12) and people read.
pub(crate) fn bounded(error: &str) -> &str {
    &error[..error.floor_char_boundary(ERROR_BYTES_MAX)]
}

const ERROR_BYTES_MAX: usize = 4 * 1024;
