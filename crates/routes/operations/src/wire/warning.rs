//! What whoever submits a run should hear at once (Q6, Q15).

use super::RunState;
use serde::Serialize;
use utoipa::ToSchema;

/// A run that is in its queue.
#[derive(Debug, Serialize, ToSchema)]
pub struct SubmittedRun {
    /// The run and where it stands.
    #[serde(flatten)]
    pub state: RunState,
    /// What it names that nobody knows yet; absent where there is no such thing. The run was taken all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// One thing that is probably not as it was meant.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Warning {
    /// `unknown_pc`, `unknown_device`, `unknown_label`, or `no_device` where nothing matches at all.
    pub code: &'static str,
    /// What is not known; of labels, `key=value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is known and much like it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub did_you_mean: Option<String>,
    /// The same in a sentence.
    pub message: String,
}
