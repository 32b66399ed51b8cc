//! Callbacks read back from the spool.

use crate::{
    Artifact, StepStatus, Text,
    core::{Attempt, Event, EventKind, Outcome, Summary},
};
use muster_model::{FailureReason, Millis, Timestamp};
use serde::Deserialize;

/// An event that is none of this shape.
#[derive(Debug, thiserror::Error)]
#[error("not a callback of this agent: {0}")]
pub struct NotACallback(String);

/// Reads back what `write_event` wrote.
///
/// # Errors
/// The bytes are no callback of this agent.
pub fn read_event(bytes: &[u8]) -> Result<Event, NotACallback> {
    let callback: Callback =
        serde_json::from_slice(bytes).map_err(|error| NotACallback(error.to_string()))?;
    let at = Timestamp(callback.payload.timestamp);
    let kind = understand(&callback.kind, callback.payload).ok_or(NotACallback(callback.kind))?;
    Ok(Event { id: callback.event_id, at, kind })
}

fn understand(kind: &str, payload: Payload) -> Option<EventKind> {
    Some(match kind {
        "run_started" => EventKind::RunStarted {
            run: payload.run_id,
            targets: payload.target_devices_count?,
            max_concurrency: payload.max_concurrency?,
        },
        "run_finished" => {
            let SummaryFields { succeeded, failed, timeout } = payload.summary?;
            let summary = Summary { succeeded, failed, timeout };
            EventKind::RunFinished { run: payload.run_id, summary }
        }
        "task_started" => EventKind::TaskStarted {
            workflow: payload.workflow_id.clone()?,
            timeout: Millis(payload.timeout_ms?),
            attempt: payload.attempt()?,
        },
        "task_progress" => EventKind::TaskProgress {
            step: payload.step.clone()?,
            status: if payload.status.as_deref() == Some("done") {
                StepStatus::Done
            } else {
                StepStatus::Running
            },
            attempt: payload.attempt()?,
        },
        "task_finished" => EventKind::TaskFinished {
            started_at: Timestamp(payload.timings.as_ref()?.started_at),
            outcome: payload.outcome()?,
            attempt: payload.attempt()?,
        },
        _ => return None,
    })
}

#[derive(Deserialize)]
struct Callback {
    event_id: Text,
    #[serde(rename = "type")]
    kind: String,
    payload: Payload,
}

#[derive(Deserialize)]
struct Payload {
    timestamp: i64,
    run_id: Text,
    target_devices_count: Option<u64>,
    max_concurrency: Option<u64>,
    summary: Option<SummaryFields>,
    task_id: Option<Text>,
    device_id: Option<Text>,
    runtime_handle: Option<Text>,
    attempt: Option<u32>,
    lease_token: Option<Text>,
    workflow_id: Option<Text>,
    #[serde(rename = "timeoutMs")]
    timeout_ms: Option<i64>,
    step: Option<Text>,
    status: Option<String>,
    failure_reason: Option<String>,
    error_message: Option<Text>,
    timings: Option<Timings>,
    artifact: Option<ArtifactFields>,
}

#[derive(Deserialize)]
struct SummaryFields {
    succeeded: u64,
    failed: u64,
    timeout: u64,
}

#[derive(Deserialize)]
struct Timings {
    #[serde(rename = "startedAt")]
    started_at: i64,
}

#[derive(Deserialize)]
struct ArtifactFields {
    kind: String,
    storage_path: String,
    public_url: String,
}

impl Payload {
    fn attempt(&self) -> Option<Attempt> {
        Some(Attempt {
            run: self.run_id.clone(),
            task: self.task_id.clone()?,
            device: self.device_id.clone()?,
            handle: self.runtime_handle.clone().unwrap_or_else(|| "".into()),
            number: self.attempt?,
            token: self.lease_token.clone(),
        })
    }

    fn outcome(&self) -> Option<Outcome> {
        if self.status.as_deref()? == "succeeded" {
            let artifact = self.artifact.as_ref().map(|told| Artifact {
                kind: told.kind.clone(),
                storage_path: told.storage_path.clone(),
                public_url: told.public_url.clone(),
            });
            return Some(Outcome::Succeeded { artifact });
        }
        let word = self.failure_reason.as_deref()?;
        let reason = FailureReason::from_word(word)?;
        Some(Outcome::Failed { reason, error: self.error_message.clone()? })
    }
}
