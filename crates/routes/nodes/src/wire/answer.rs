//! What nodes are answered.

use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The answer to a callback (N4, N6b).
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct CallbackAnswer {
    /// Always true: the event is kept.
    pub ok: bool,
    /// The event had been taken before.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub duplicate: bool,
    /// The event speaks of what is past: kept, without effect.
    #[serde(skip_serializing_if = "is_false")]
    #[schema(required = false)]
    pub stale: bool,
}

/// The answer to a pull (N1).
#[derive(Debug, Serialize, ToSchema)]
pub struct PullAnswer<'a> {
    /// The time here, epoch milliseconds.
    pub now: i64,
    /// Runs of which this answer carries the node's first job.
    pub runs: Vec<RunOffer<'a>>,
    /// Jobs to execute.
    pub jobs: Vec<JobOffer<'a>>,
    /// Runs that hold nothing more for this node.
    pub finished_runs: Vec<String>,
    /// Jobs to end and to report as finished.
    pub stop: Vec<String>,
    /// Those of `stop` that the node holds, with what a report of their end needs: for a node that never heard of one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub stop_jobs: Vec<StopOffer>,
    /// What whoever runs the node should look at, a sentence each; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<String>,
}

/// A job to end.
#[derive(Debug, Serialize, ToSchema)]
pub struct StopOffer {
    /// The job's id.
    pub task_id: String,
    /// Its run.
    pub run_id: String,
    /// The device's serial.
    pub device_id: String,
    /// Whatever reaches the device now.
    pub runtime_handle: String,
    /// The nth try.
    pub attempt: u16,
    /// The right to it.
    pub lease: LeaseOffer,
}

/// A run new to a node.
#[derive(Debug, Serialize, ToSchema)]
pub struct RunOffer<'a> {
    /// The run's id.
    pub run_id: String,
    /// What to execute.
    pub workflow_id: &'a str,
    /// Parameters of the workflow.
    #[schema(value_type = Object)]
    pub params: &'a RawValue,
    /// How long one job may take.
    #[serde(rename = "timeoutMs")]
    pub timeout_ms: i64,
    /// Devices of the run at this node, as far as known.
    pub target_devices_count: u32,
    /// How many may run at once here.
    pub max_concurrency: u32,
}

/// One job for one device.
#[derive(Debug, Serialize, ToSchema)]
pub struct JobOffer<'a> {
    /// The job's id; the same over retries.
    pub task_id: String,
    /// Its run.
    pub run_id: String,
    /// The device's serial.
    pub device_id: String,
    /// Whatever reaches the device now.
    pub runtime_handle: String,
    /// What to execute.
    pub workflow_id: &'a str,
    /// Parameters of the workflow.
    #[schema(value_type = Object)]
    pub params: &'a RawValue,
    /// How long it may take.
    #[serde(rename = "timeoutMs")]
    pub timeout_ms: i64,
    /// The nth try.
    pub attempt: u16,
    /// The right to it.
    pub lease: LeaseOffer,
}

/// The right to one attempt.
#[derive(Debug, Serialize, ToSchema)]
pub struct LeaseOffer {
    /// Proves that a report speaks of this attempt.
    pub token: String,
    /// When it ends if nothing is heard, epoch milliseconds.
    pub until: i64,
}

/// Every node that ever pulled or called back.
#[derive(Debug, Serialize, ToSchema)]
pub struct NodeList {
    /// By name.
    pub nodes: Vec<NodeState>,
}

/// A node, with what its last heartbeat said (N8). The fields of the heartbeat are null if this server has heard none.
#[derive(Debug, Serialize, ToSchema)]
pub struct NodeState {
    /// The node.
    pub node_id: String,
    /// `online` or `offline`, by its last sign of life.
    pub status: &'static str,
    /// `late` when the node pulls or calls back but its heartbeat has been missing for three periods (N8c), else `ok`.
    pub heartbeat: &'static str,
    /// Since when the heartbeat is late, epoch milliseconds.
    pub heartbeat_late_since: Option<i64>,
    /// By the node's clock, epoch milliseconds.
    pub timestamp: Option<i64>,
    /// By the coordinator's clock, epoch milliseconds.
    pub heard_at: Option<i64>,
    /// Devices attached.
    pub connected_devices_count: Option<u64>,
    /// Devices with a running job.
    pub running_devices_count: Option<u64>,
    /// Targets not yet started.
    pub queue_devices_count: Option<u64>,
    /// Whether the vendor's control channel works.
    pub vendor_ws_ok: Option<bool>,
    /// Whether the node could not deliver its reports for a while.
    pub degraded: Option<bool>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}
