//! The answer of `fn_timeout_tasks_and_task_devices` (Q14).

use serde::Serialize;
use utoipa::ToSchema;

/// How much ended because its time was over.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Swept {
    /// Runs.
    pub tasks: u32,
    /// Attempts.
    pub task_devices: u32,
}
