//! The six events as a node writes them, and reads them back from its spool (N8 to N14).
//!
//! A node sends exactly the bytes that it spooled, so a restarted node reads its own JSON back.

use crate::Text;
use muster_model::{FailureReason, Millis, RunSummary, StepStatus, Timestamp};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A callback that must not be lost; heartbeats are none (N19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The same however often it is sent (N5).
    pub id: Text,
    /// When it became true, by the agent's clock.
    pub at: Timestamp,
    /// Kind of the event, with its fields.
    pub kind: EventKind,
}

/// Kind of an event, with its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The first job of a run has come (N9).
    RunStarted {
        /// Which.
        run: Text,
        /// Its devices at this node.
        targets: u64,
        /// Maximum number of tasks that run at once here.
        max_concurrency: u64,
    },
    /// A device begins with a task (N10).
    TaskStarted {
        /// Which attempt.
        attempt: Attempt,
        /// Workflow that the device executes.
        workflow: Text,
        /// Time limit.
        timeout: Millis,
    },
    /// A step of a task begins or is over (N11).
    TaskProgress {
        /// Which attempt.
        attempt: Attempt,
        /// The step's id.
        step: Text,
        /// Status of the step.
        status: StepStatus,
    },
    /// A task is over on its device (N12).
    TaskFinished {
        /// Which attempt.
        attempt: Attempt,
        /// When it began.
        started_at: Timestamp,
        /// Outcome of the attempt.
        outcome: Outcome,
    },
    /// A run holds nothing more for this node (N14).
    RunFinished {
        /// Which.
        run: Text,
        /// Summary of the run's tasks on this node.
        summary: RunSummary,
    },
}

/// One attempt of one task, with its fence (N6b).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Of which run.
    pub run: Text,
    /// Which task.
    pub task: Text,
    /// On which device.
    pub device: Text,
    /// By which handle.
    pub handle: Text,
    /// The nth try.
    pub number: u32,
    /// Proof of the lease, where the backend gave one.
    pub token: Option<Text>,
}

/// Outcome of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Succeeded {
        /// The uploaded artifact.
        artifact: Option<Artifact>,
    },
    /// Badly.
    Failed {
        /// One of the contract's words (N13).
        reason: FailureReason,
        /// For people; begins with `timeout: ` where time ran out.
        error: Text,
    },
}

/// A file that a task left behind (N12, N21).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Such as `screenshot`.
    pub kind: String,
    /// Path in the coordinator's storage.
    pub storage_path: String,
    /// URL at which people find it.
    pub public_url: String,
}

/// A node's account of itself (N8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// By the node's clock.
    pub at: Timestamp,
    /// Devices that are online.
    pub connected: u64,
    /// Devices with a running job.
    pub running: u64,
    /// Targets of the open runs here not yet started (N8b).
    pub queued: u64,
    /// The vendor's control channel works.
    pub vendor_ws_ok: bool,
    /// Reports have not reached the backend for a while (N20).
    pub degraded: bool,
}

impl Outcome {
    /// Reports whether it counts as a timeout (N14).
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Failed { error, .. } if error.starts_with(TIMEOUT))
    }
}

/// The bytes are not an event of this node.
#[derive(Debug, thiserror::Error)]
#[error("not a callback of this agent: {0}")]
pub struct NotACallback(String);

impl EventKind {
    /// The run that it belongs to.
    #[must_use]
    pub fn run(&self) -> &Text {
        match self {
            Self::RunStarted { run, .. } | Self::RunFinished { run, .. } => run,
            Self::TaskStarted { attempt, .. }
            | Self::TaskProgress { attempt, .. }
            | Self::TaskFinished { attempt, .. } => &attempt.run,
        }
    }

    /// The attempt that it speaks of, if of one.
    #[must_use]
    pub const fn attempt(&self) -> Option<&Attempt> {
        match self {
            Self::RunStarted { .. } | Self::RunFinished { .. } => None,
            Self::TaskStarted { attempt, .. }
            | Self::TaskProgress { attempt, .. }
            | Self::TaskFinished { attempt, .. } => Some(attempt),
        }
    }
}

/// Writes the body of a callback (N4).
#[must_use]
pub fn write_event(node: &str, event: &Event) -> Vec<u8> {
    let kind = match event.kind {
        EventKind::RunStarted { .. } => "run_started",
        EventKind::TaskStarted { .. } => "task_started",
        EventKind::TaskProgress { .. } => "task_progress",
        EventKind::TaskFinished { .. } => "task_finished",
        EventKind::RunFinished { .. } => "run_finished",
    };
    let payload = Payload { node_id: node.into(), ..Payload::of(event) };
    write(&event.id, kind, &payload)
}

/// Writes the body of a heartbeat (N8). Its id need not outlive the moment: a heartbeat is never spooled.
#[must_use]
pub fn write_heartbeat(node: &str, beat: &Heartbeat) -> Vec<u8> {
    let payload = HeartbeatPayload {
        node_id: node,
        timestamp: beat.at.0,
        connected_devices_count: beat.connected,
        running_devices_count: beat.running,
        queue_devices_count: beat.queued,
        vendor_ws_ok: beat.vendor_ws_ok,
        degraded: beat.degraded,
    };
    write(&format!("{node:.100}/heartbeat/{}", beat.at.0), "node_heartbeat", &payload)
}

/// Reads back what `write_event` wrote.
///
/// # Errors
/// The bytes are not an event of this node.
pub fn read_event(bytes: &[u8]) -> Result<Event, NotACallback> {
    let callback: Body<'_, Payload<'_>> =
        serde_json::from_slice(bytes).map_err(|error| NotACallback(error.to_string()))?;
    let at = Timestamp(callback.payload.timestamp);
    let id = callback.event_id.as_ref().into();
    let kind = callback.payload.kind(&callback.kind).ok_or(NotACallback(callback.kind.into_owned()))?;
    Ok(Event { id, at, kind })
}

fn write(event_id: &str, kind: &str, payload: &impl Serialize) -> Vec<u8> {
    let body = Body { event_id: event_id.into(), kind: kind.into(), payload };
    serde_json::to_vec(&body).expect("texts and numbers are always JSON")
}

#[derive(Serialize, Deserialize)]
struct Body<'a, P> {
    event_id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: Cow<'a, str>,
    payload: P,
}

#[derive(Serialize)]
struct HeartbeatPayload<'a> {
    node_id: &'a str,
    timestamp: i64,
    connected_devices_count: u64,
    running_devices_count: u64,
    queue_devices_count: u64,
    vendor_ws_ok: bool,
    degraded: bool,
}

/// The fields of all spooled events; each event has some of them.
#[derive(Default, Serialize, Deserialize)]
struct Payload<'a> {
    #[serde(default)]
    node_id: Cow<'a, str>,
    timestamp: i64,
    run_id: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_devices_count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_concurrency: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_handle: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_token: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow_id: Option<Text>,
    #[serde(rename = "timeoutMs", skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_reason: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<Timings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<Artifact>,
}

#[derive(Serialize, Deserialize)]
struct Summary {
    succeeded: u64,
    failed: u64,
    timeout: u64,
}

#[derive(Serialize, Deserialize)]
struct Timings {
    #[serde(rename = "startedAt")]
    started_at: i64,
    #[serde(rename = "endedAt", default)]
    ended_at: i64,
}

impl Payload<'_> {
    fn of(event: &Event) -> Self {
        let mut payload = event.kind.attempt().map_or_else(Self::default, Self::about);
        payload.timestamp = event.at.0;
        payload.run_id = event.kind.run().clone();
        match &event.kind {
            EventKind::RunStarted { targets, max_concurrency, .. } => {
                payload.target_devices_count = Some(*targets);
                payload.max_concurrency = Some(*max_concurrency);
            }
            EventKind::RunFinished { summary: RunSummary { succeeded, failed, timeout }, .. } => {
                payload.summary = Some(Summary { succeeded: *succeeded, failed: *failed, timeout: *timeout });
            }
            EventKind::TaskStarted { workflow, timeout, .. } => {
                payload.workflow_id = Some(workflow.clone());
                payload.timeout_ms = Some(timeout.0);
            }
            EventKind::TaskProgress { step, status, .. } => {
                payload.runtime_handle = None;
                payload.step = Some(step.clone());
                payload.status = Some(step_status(*status).into());
            }
            EventKind::TaskFinished { started_at, outcome, .. } => {
                payload.timings = Some(Timings { started_at: started_at.0, ended_at: event.at.0 });
                payload.set_outcome(outcome);
            }
        }
        payload
    }

    /// The fields of every event of a task, with the fence of its attempt (N6b).
    fn about(attempt: &Attempt) -> Self {
        Self {
            task_id: Some(attempt.task.clone()),
            device_id: Some(attempt.device.clone()),
            runtime_handle: Some(attempt.handle.clone()),
            attempt: Some(attempt.number),
            lease_token: attempt.token.clone(),
            ..Self::default()
        }
    }

    fn set_outcome(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Succeeded { artifact } => {
                self.status = Some("succeeded".into());
                self.artifact.clone_from(artifact);
            }
            Outcome::Failed { reason, error } => {
                self.status = Some("failed".into());
                self.failure_reason = Some(reason.as_str().into());
                self.error_message = Some(error.clone());
            }
        }
    }

    fn kind(self, kind: &str) -> Option<EventKind> {
        Some(match kind {
            "run_started" => EventKind::RunStarted {
                run: self.run_id,
                targets: self.target_devices_count?,
                max_concurrency: self.max_concurrency?,
            },
            "run_finished" => {
                let Summary { succeeded, failed, timeout } = self.summary?;
                EventKind::RunFinished {
                    run: self.run_id,
                    summary: RunSummary { succeeded, failed, timeout },
                }
            }
            "task_started" => EventKind::TaskStarted {
                attempt: self.attempt()?,
                workflow: self.workflow_id?,
                timeout: Millis(self.timeout_ms?),
            },
            "task_progress" => EventKind::TaskProgress {
                attempt: self.attempt()?,
                status: if self.status.as_deref() == Some("done") {
                    StepStatus::Done
                } else {
                    StepStatus::Running
                },
                step: self.step?,
            },
            "task_finished" => EventKind::TaskFinished {
                attempt: self.attempt()?,
                started_at: Timestamp(self.timings.as_ref()?.started_at),
                outcome: self.outcome()?,
            },
            _ => return None,
        })
    }

    fn attempt(&self) -> Option<Attempt> {
        Some(Attempt {
            run: self.run_id.clone(),
            task: self.task_id.clone()?,
            device: self.device_id.clone()?,
            handle: self.runtime_handle.clone().unwrap_or_default(),
            number: self.attempt?,
            token: self.lease_token.clone(),
        })
    }

    fn outcome(self) -> Option<Outcome> {
        if self.status? == "succeeded" {
            return Some(Outcome::Succeeded { artifact: self.artifact });
        }
        let reason = FailureReason::from_word(&self.failure_reason?)?;
        Some(Outcome::Failed { reason, error: self.error_message? })
    }
}

/// The beginning of the error of a task that ran out of time (N13).
pub const TIMEOUT: &str = "timeout: ";

const fn step_status(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Running => "running",
        StepStatus::Done => "done",
    }
}

#[cfg(test)]
mod tests;
