//! Workflows are data (N22). The format stands in `docs/workflows.md`.

mod catalogue;
mod check;
mod fields;
mod fill;
mod parse;
pub mod template;

pub use catalogue::Workflows;
pub use fields::{Place, Problem, WorkflowError};
pub use parse::parse;
pub use template::{TemplateError, Values};

pub(crate) use check::check_step;
pub(crate) use fields::{Fields, near};
pub(crate) use parse::{is_step_id, read_table};

use muster_model::FailureReason;
use serde_json::{Map, Value};
use std::time::Duration;

/// What is done to a device, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// The name of its file.
    pub id: String,
    /// How long the whole may take.
    pub timeout: Duration,
    /// In order.
    pub steps: Vec<Step>,
    /// Where uploads go, if not to the coordinator's usual place (N21): a path with `{KEY}`s that the coordinator knows.
    pub storage_path: Option<String>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// `[A-Z0-9_]{1,64}`, unique within its workflow (N11).
    pub id: String,
    /// Who does it.
    pub kind: StepKind,
    /// A program and its arguments, or for `adb` the words after `adb`.
    pub command: Vec<String>,
    /// For `vendor`: what to ask for.
    pub action: Option<String>,
    /// Whatever its kind needs.
    pub params: Map<String, Value>,
    /// How long one try may take.
    pub timeout: Duration,
    /// What a failure means for the task.
    pub on_failure: OnFailure,
    /// Further tries after a failure, where `on_failure` is `Retry`.
    pub retries: u32,
}

/// Who does a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// The adb server.
    Adb,
    /// The vendor's program.
    Vendor,
    /// Any program.
    Command,
    /// The agent: it uploads the last file that a step left behind.
    Upload,
    /// The agent: it compares.
    Assert,
    /// The agent: it waits `params.ms`.
    Sleep,
}

/// What a failure means for the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// The task fails.
    Stop,
    /// The next step follows.
    Continue,
    /// It is tried again, `retries` times; then the task fails.
    Retry,
}

/// Finds the reason that a word of the contract names (N13).
#[must_use]
pub fn reason_named(word: &str) -> Option<FailureReason> {
    FailureReason::from_word(word)
}
