//! Callbacks as a node of another make writes them: flat, beside `type` (N4).

use super::super::wire::WORKFLOW;
use muster_model::{Outcome, Report, ReportKind, StepStatus, TaskReport, TaskReportKind};
use serde_json::{Value, json};

/// Writes the body of a callback.
pub(super) fn write(report: &Report) -> Vec<u8> {
    let mut body = match &report.kind {
        ReportKind::RunStarted { job } => json!({"type": "run_started", "run_id": job.to_string(),
            "target_devices_count": 1, "max_concurrency": 1}),
        ReportKind::RunFinished { job, summary } => json!({"type": "run_finished", "run_id": job.to_string(),
            "summary": {"succeeded": summary.succeeded, "failed": summary.failed, "timeout": summary.timeout}}),
        ReportKind::Task(task) => write_task(task, report),
    };
    body["event_id"] = report.id.as_str().into();
    body["node_id"] = report.worker.as_str().into();
    body["timestamp"] = report.at.0.into();
    body.to_string().into_bytes()
}

fn write_task(task: &TaskReport, report: &Report) -> Value {
    let handle = task.lane.as_str();
    let mut body = match &task.kind {
        TaskReportKind::Started => {
            json!({"type": "task_started", "runtime_handle": handle, "workflow_id": WORKFLOW, "timeoutMs": 1})
        }
        TaskReportKind::Progress(step) => json!({"type": "task_progress", "step": step.name.as_str(),
            "status": match step.status { StepStatus::Running => "running", StepStatus::Done => "done" }}),
        TaskReportKind::Finished { outcome, started_at, .. } => {
            let mut body = json!({"type": "task_finished", "runtime_handle": handle,
                "timings": {"startedAt": started_at.0, "endedAt": report.at.0}});
            write_outcome(&mut body, outcome);
            body
        }
    };
    body["run_id"] = task.job.to_string().into();
    body["task_id"] = task.task.to_string().into();
    body["device_id"] = handle.into();
    // A field that is null counts as absent (N4).
    body["attempt"] = task.attempt.into();
    body["lease_token"] = task.fence.map(|fence| fence.to_string()).into();
    body
}

fn write_outcome(body: &mut Value, outcome: &Outcome) {
    match outcome {
        Outcome::Failed { reason, error } => {
            body["status"] = "failed".into();
            body["failure_reason"] = reason.map(|reason| reason.as_str()).into();
            body["error_message"] = error.as_deref().into();
        }
        _ => body["status"] = "succeeded".into(),
    }
}
