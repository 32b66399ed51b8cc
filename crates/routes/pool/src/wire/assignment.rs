//! Assignments and results as workers see them (P6, P7, P19).

use super::{JsonText, Moment};
use serde::Serialize;
use std::borrow::Cow;
use utoipa::ToSchema;

/// Work for a worker (P6).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolAssignment)]
pub struct Assignment {
    /// Its id; another one with every attempt.
    pub assignment_id: u64,
    /// The job's payload, as its client wrote it.
    pub job: JsonText,
    /// What the result must carry and sign.
    pub nonce: String,
    /// The job's priority.
    pub cost_hint_tokens: u8,
}

/// What a worker had started (P6).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolAssignments)]
pub struct Assignments {
    /// Oldest first.
    pub assignments: Vec<Assignment>,
}

/// The answer to a poll: one assignment, or, to `resume`, all that were started (P6).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolPollAnswer)]
#[serde(untagged)]
pub enum PollAnswer {
    /// One.
    One(Assignment),
    /// Those that were started.
    Started(Assignments),
}

/// A result that was taken (P7).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolSubmitted)]
pub struct Submitted {
    /// Of which assignment.
    pub assignment_id: u64,
    /// `completed` or `failed`.
    #[schema(example = "completed")]
    pub status: &'static str,
    /// When it was taken.
    pub finished_at: Moment,
}

/// What became of one result among several (P19).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolSubmittedItem)]
#[serde(untagged)]
pub enum SubmittedItem {
    /// It was taken.
    Taken(Submitted),
    /// It was not.
    Refused {
        /// Of which assignment.
        assignment_id: u64,
        /// Why, in the words that `POST /jobs/submit` has for it.
        error: Cow<'static, str>,
        /// The status that `POST /jobs/submit` has for it.
        code: u16,
        /// There: the very same text was taken before.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        identical: bool,
    },
}

/// What became of the results, and more work (P19).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolWorkAnswer)]
pub struct WorkAnswer {
    /// One for each result, in their order.
    pub submitted: Vec<SubmittedItem>,
    /// Oldest first.
    pub assignments: Vec<Assignment>,
}
