//! The end of a job's execution.

use muster_contract_nodes::Artifact;
use muster_model::FailureReason;

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

/// Cuts an error to what every backend takes (N12) and people read.
pub(crate) fn bounded(error: &str) -> &str {
    &error[..error.floor_char_boundary(ERROR_BYTES_MAX)]
}

const ERROR_BYTES_MAX: usize = 4 * 1024;
