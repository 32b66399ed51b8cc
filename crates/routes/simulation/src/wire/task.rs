//! Tasks as workers see them (S3, S5).

use super::{JsonText, Range};
use serde::Serialize;
use utoipa::ToSchema;

/// A range of frames for one worker (S3).
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskOffer {
    /// The task's id; the same over all attempts.
    #[schema(example = "night_run.00001200")]
    pub task_id: String,
    /// Its session.
    pub session_id: String,
    /// What to simulate, as the session was submitted.
    pub scenario: JsonText,
    /// The session's cameras, where it has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    pub cameras: Option<JsonText>,
    /// The frames to make.
    #[schema(schema_with = super::range)]
    pub frame_range: Range,
    /// The ids that may be given to what is simulated.
    pub global_id_chunk: IdChunk,
    /// The nth try.
    pub attempt: u16,
    /// The epoch it was given out in; a task of an older one is refused by workers.
    pub epoch: u64,
    /// Where this attempt writes, absolute. It is there.
    pub output_directory: String,
    /// Whether another attempt was made before.
    pub replay: bool,
}

impl TaskOffer {
    /// The same as a tree, for whoever signs and sends it.
    ///
    /// # Errors
    /// When what was submitted with the session is not JSON, which only a damaged store can bring about.
    pub fn to_value(&self) -> Result<serde_json::Value, muster_http::Problem> {
        let text = serde_json::to_vec(self).map_err(|error| muster_http::Problem::internal(&error))?;
        // Read as it would be by whoever gets it: serde_json's own way gives some names a meaning of their own.
        muster_http::read_json(&text, text.len())
    }
}

/// Ids that are given out once and never again (S12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdChunk {
    /// Its number; counts up from 1.
    pub chunk_id: u64,
    /// The ids.
    #[schema(schema_with = super::range)]
    pub range: Range,
}

/// The answer to a pull (S3).
#[derive(Debug, Serialize, ToSchema)]
pub struct TaskAnswer {
    /// A task, or null where there is none for now.
    pub task: Option<TaskOffer>,
    /// What the worker is to do first, as in the answer to a heartbeat; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<&'static str>,
}

/// The answer to a completion that was taken, now or before (S5).
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    /// Always true.
    pub accepted: bool,
    /// It had been taken before.
    pub repeated: bool,
    /// The task.
    pub task_id: String,
    /// Who held it.
    pub worker_id: String,
    /// In which attempt.
    pub attempt: u16,
}

/// The answer to what was taken note of.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Taken {
    /// Always true.
    pub ok: bool,
}

/// The answer to a task that was placed by hand (S6).
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Assigned {
    /// The task.
    pub task_id: String,
    /// Who gets it next.
    pub worker_id: String,
}
