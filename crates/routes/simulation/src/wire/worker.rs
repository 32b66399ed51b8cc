//! Workers as they and people see them (S1, S2, S8, S11).

use super::JsonText;
use serde::Serialize;
use utoipa::ToSchema;

/// The answer to a registration (S1).
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Registered {
    /// Who was registered.
    pub worker_id: String,
    /// What it shows from now on; shown this once.
    pub worker_token: String,
    /// Where it asks for more ids.
    #[schema(example = "/api/v1/id-ranges")]
    pub id_range_endpoint: &'static str,
    /// How often it must show that it lives.
    pub heartbeat_interval_ms: i64,
    /// The epoch it registered in.
    pub epoch: u64,
}

/// The answer to a heartbeat and to a rebind (S2, S19).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BeatAnswer {
    /// Where it stands; `zombie` for one that was removed and keeps calling, or never answered.
    pub state: &'static str,
    /// The epoch.
    pub epoch: u64,
    /// How fast it may go.
    pub backpressure: Backpressure,
    /// What it is to do.
    pub commands: Vec<Order>,
}

/// How fast a worker may go (S10).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct Backpressure {
    /// `ok`, `caution`, `slow` or `pause`.
    pub level: &'static str,
    /// What is left of the frame rate: 1, 0.9, 0.7 or 0.
    pub factor: f64,
}

/// What a worker is to do: `rebind`, `reregister`, `pause`, `resume`, or `{"stop": taskId}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Order {
    /// A word.
    Word(&'static str),
    /// End this task.
    Stop {
        /// Which.
        stop: String,
    },
}

/// A worker in the catalogue (S11).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Worker {
    /// Its name.
    pub worker_id: String,
    /// As it said when it registered.
    pub role: Option<String>,
    /// As it said when it registered.
    pub capabilities: JsonText,
    /// Where it stands; `zombie` for one that was removed and keeps calling, or never answered.
    pub state: &'static str,
    /// Since when, epoch milliseconds.
    pub state_since: i64,
    /// Its last heartbeat, epoch milliseconds.
    pub last_heartbeat: Option<i64>,
    /// The task it is at; of several, the first.
    pub current_task: Option<String>,
    /// All tasks it holds.
    pub tasks: Vec<String>,
    /// As it last said.
    pub queue_ratio: Option<f64>,
    /// As its latest progress said.
    pub max_queue_ratio: Option<f64>,
    /// As it last said.
    pub gpu_usage: Option<f64>,
    /// As it last said.
    pub last_frame: Option<u64>,
    /// How fast it may go.
    pub backpressure: Option<Backpressure>,
    /// Frames a second, as its completed ranges tell.
    pub rate: Option<f64>,
    /// Losses and failures that count towards its diagnosis.
    pub failures: u32,
    /// Tasks it takes at a time.
    pub slots: u32,
    /// Where it takes tasks by push.
    pub endpoint: Option<String>,
    /// When it last registered, epoch milliseconds.
    pub registered_at: i64,
}

/// One worker with its life (S11).
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerDetail {
    /// The worker itself.
    #[serde(flatten)]
    pub worker: Worker,
    /// Its changes of state, oldest first; the last hundred.
    pub transitions: Vec<Transition>,
    /// Its registration as it was sent, fields that are not known included.
    pub registration: JsonText,
}

/// A change of a worker's state (S11).
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Transition {
    /// From which state.
    pub from: &'static str,
    /// To which.
    pub to: &'static str,
    /// Why.
    pub cause: String,
    /// When, epoch milliseconds.
    pub at: i64,
}

/// Workers, by name.
#[derive(Debug, Serialize, ToSchema)]
pub struct WorkerList {
    /// This page.
    pub workers: Vec<Worker>,
    /// Give it as `after` to see the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A worker and where it stands.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Who.
    pub worker_id: String,
    /// Where it stands.
    pub state: &'static str,
}
