//! Callbacks as JSON (N4, N8 to N14).

use crate::{
    Artifact, StepStatus,
    core::{Attempt, Event, EventKind, Heartbeat, Outcome, Summary},
};
use serde_json::{Map, Value, json};

/// The body of a callback (N4).
#[must_use]
pub fn write_event(node: &str, event: &Event) -> Vec<u8> {
    let (kind, mut payload) = phrase(event);
    payload.insert("node_id".into(), node.into());
    payload.insert("timestamp".into(), event.at.0.into());
    json!({"event_id": &*event.id, "type": kind, "payload": payload}).to_string().into_bytes()
}

/// The body of a heartbeat (N8). Its id need not outlive the moment: it is never spooled.
#[must_use]
pub fn write_heartbeat(node: &str, beat: &Heartbeat, vendor_ws_ok: bool) -> Vec<u8> {
    let body = json!({
        "event_id": format!("{node:.100}/heartbeat/{}", beat.at.0),
        "type": "node_heartbeat",
        "payload": {
            "node_id": node,
            "timestamp": beat.at.0,
            "connected_devices_count": beat.connected,
            "running_devices_count": beat.running,
            "queue_devices_count": beat.queued,
            "vendor_ws_ok": vendor_ws_ok,
            "degraded": beat.degraded,
        },
    });
    body.to_string().into_bytes()
}

fn phrase(event: &Event) -> (&'static str, Map<String, Value>) {
    match &event.kind {
        EventKind::RunStarted { run, targets, max_concurrency } => {
            let told = json!({"run_id": &**run, "target_devices_count": targets,
                "max_concurrency": max_concurrency});
            ("run_started", fields(told))
        }
        EventKind::RunFinished { run, summary: Summary { succeeded, failed, timeout } } => {
            let summary = json!({"succeeded": succeeded, "failed": failed, "timeout": timeout});
            ("run_finished", fields(json!({"run_id": &**run, "summary": summary})))
        }
        EventKind::TaskStarted { attempt, workflow, timeout } => {
            let told = json!({"runtime_handle": &*attempt.handle, "workflow_id": &**workflow,
                "timeoutMs": timeout.0});
            ("task_started", about(attempt, told))
        }
        EventKind::TaskProgress { attempt, step, status } => {
            let status = match status {
                StepStatus::Running => "running",
                StepStatus::Done => "done",
            };
            ("task_progress", about(attempt, json!({"step": &**step, "status": status})))
        }
        EventKind::TaskFinished { attempt, started_at, outcome } => {
            let timings = json!({"startedAt": started_at.0, "endedAt": event.at.0});
            let mut told = json!({"runtime_handle": &*attempt.handle, "timings": timings});
            tell_outcome(&mut told, outcome);
            ("task_finished", about(attempt, told))
        }
    }
}

fn tell_outcome(told: &mut Value, outcome: &Outcome) {
    match outcome {
        Outcome::Succeeded { artifact } => {
            told["status"] = "succeeded".into();
            if let Some(Artifact { kind, storage_path, public_url }) = artifact {
                told["artifact"] =
                    json!({"kind": kind, "storage_path": storage_path, "public_url": public_url});
            }
        }
        Outcome::Failed { reason, error } => {
            told["status"] = "failed".into();
            told["failure_reason"] = reason.as_str().into();
            told["error_message"] = (&**error).into();
        }
    }
}

/// The fields of a task's event, with the fence of its attempt (N6b).
fn about(attempt: &Attempt, told: Value) -> Map<String, Value> {
    let mut all = fields(told);
    let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
    put("run_id", (&*attempt.run).into());
    put("task_id", (&*attempt.task).into());
    put("device_id", (&*attempt.device).into());
    put("attempt", attempt.number.into());
    if let Some(token) = &attempt.token {
        put("lease_token", (&**token).into());
    }
    all
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
