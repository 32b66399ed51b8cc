//! The six events as the coordinator reads them (N8 to N14).

use crate::{Heartbeat, Message, WHOLE_MAX};
use muster_model::{
    FailureReason, Fence, JobId, Name, Outcome, Report, ReportKind, RunSummary, Step, StepStatus, TaskId,
    TaskReport, TaskReportKind, Timestamp,
};
use muster_problem::{JsonTree, Problem, WireMutant, planted};
use serde::{Serialize, Serializer};

type Fields<'m, 'a> = muster_problem::Fields<'m, JsonTree<'a>>;

/// A callback that was read.
#[derive(Clone, Debug)]
pub enum NodeMessage {
    /// A sign of life (N8), which is not stored.
    Heartbeat {
        /// The sender.
        worker: Name,
        /// Its account of itself.
        heartbeat: Heartbeat,
    },
    /// A report that must not be lost.
    Report(Box<Report>),
}

/// Reads an event.
///
/// # Errors
/// 422 naming the field that is missing or wrong (N6).
pub fn read_report(message: &Message<'_>) -> Result<NodeMessage, Problem> {
    let fields = message.fields();
    let kind = fields.choice("type", &KINDS)?;
    let worker = fields.name("node_id")?;
    let at = fields.timestamp("timestamp")?;
    let kind = match kind {
        "node_heartbeat" => {
            return Ok(NodeMessage::Heartbeat { worker, heartbeat: heartbeat(&fields, at)? });
        }
        "run_started" => run_started(&fields)?,
        "run_finished" => run_finished(&fields)?,
        "task_started" => task(&fields, task_started(&fields)?)?,
        "task_progress" => task(&fields, task_progress(&fields, at)?)?,
        _ => task(&fields, task_finished(&fields)?)?,
    };
    let report = Report { id: message.id.clone(), worker, at, body: message.text.clone(), kind };
    Ok(NodeMessage::Report(Box::new(report)))
}

fn heartbeat(fields: &Fields<'_, '_>, at: Timestamp) -> Result<Heartbeat, Problem> {
    Ok(Heartbeat {
        at,
        connected: count(fields, "connected_devices_count")?,
        running: count(fields, "running_devices_count")?,
        queued: count(fields, "queue_devices_count")?,
        vendor_ws_ok: fields.boolean("vendor_ws_ok")?,
        degraded: fields.opt_boolean("degraded")?.unwrap_or(false),
    })
}

fn run_started(fields: &Fields<'_, '_>) -> Result<ReportKind, Problem> {
    count(fields, "target_devices_count")?;
    count(fields, "max_concurrency")?;
    Ok(ReportKind::RunStarted { job: job(fields)? })
}

fn run_finished(fields: &Fields<'_, '_>) -> Result<ReportKind, Problem> {
    let job = job(fields)?;
    let tally = fields.fields("summary")?;
    let summary = RunSummary {
        succeeded: count(&tally, "succeeded")?,
        failed: count(&tally, "failed")?,
        timeout: count(&tally, "timeout")?,
    };
    Ok(ReportKind::RunFinished { job, summary })
}

fn task(fields: &Fields<'_, '_>, kind: TaskReportKind) -> Result<ReportKind, Problem> {
    let attempt = fields.opt_integer_in("attempt", 1..=i64::from(u16::MAX))?;
    // A token that is no token of ours proves nothing: it matches no lease, so the report is stale.
    let token = fields.opt_text("lease_token", TEXT_CHARS_MAX)?;
    Ok(ReportKind::Task(TaskReport {
        job: job(fields)?,
        task: fields.text("task_id", TEXT_CHARS_MAX)?.parse().unwrap_or(TaskId::NIL),
        lane: fields.name("device_id")?,
        attempt: attempt.and_then(|attempt| u16::try_from(attempt).ok()),
        fence: token
            .filter(|_| !planted(WireMutant::LeaseTokenNotRead))
            .map(|token| token.parse().unwrap_or(Fence(0))),
        kind,
    }))
}

fn task_started(fields: &Fields<'_, '_>) -> Result<TaskReportKind, Problem> {
    fields.text("runtime_handle", TEXT_CHARS_MAX)?;
    fields.text("workflow_id", TEXT_CHARS_MAX)?;
    count(fields, "timeoutMs")?;
    Ok(TaskReportKind::Started)
}

fn task_progress(fields: &Fields<'_, '_>, at: Timestamp) -> Result<TaskReportKind, Problem> {
    let name = fields.name("step")?;
    let is_step = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if name.as_str().len() > STEP_CHARS_MAX || !name.as_str().chars().all(is_step) {
        return Err(fields.refuse("step", "must be 1 to 64 of the characters A-Z, 0-9 and _"));
    }
    let status = match fields.choice("status", &["running", "done"])? {
        "running" => StepStatus::Running,
        _ => StepStatus::Done,
    };
    Ok(TaskReportKind::Progress(Step { name, status, at }))
}

fn task_finished(fields: &Fields<'_, '_>) -> Result<TaskReportKind, Problem> {
    fields.text("runtime_handle", TEXT_CHARS_MAX)?;
    let timings = fields.fields("timings")?;
    let started_at = timings.timestamp("startedAt")?;
    timings.timestamp("endedAt")?;
    check_artifact(fields)?;
    let outcome = outcome(fields)?;
    Ok(TaskReportKind::Finished { outcome, started_at, result: Some(result(fields)?) })
}

fn outcome(fields: &Fields<'_, '_>) -> Result<Outcome, Problem> {
    let status = fields.choice("status", &["succeeded", "failed", "success", "completed"])?;
    let error = fields.opt_text("error_message", ERROR_BYTES_MAX)?;
    if error.is_some_and(|error| error.len() > ERROR_BYTES_MAX) {
        return Err(fields.refuse("error_message", "must have at most 8192 bytes"));
    }
    let reason = failure_reason(fields)?;
    match (status, reason) {
        ("failed", Some(_)) if planted(WireMutant::FailureReadAsSuccess) => Ok(Outcome::Succeeded),
        ("failed", Some(_)) => Ok(Outcome::Failed { reason, error: error.map(Into::into) }),
        ("failed", None) => {
            Err(fields.refuse("failure_reason", "is missing; a failed task names its reason"))
        }
        (_, Some(_)) => Err(fields.refuse("failure_reason", "must be absent unless status is failed")),
        (_, None) => Ok(Outcome::Succeeded),
    }
}

fn failure_reason(fields: &Fields<'_, '_>) -> Result<Option<FailureReason>, Problem> {
    let words = FailureReason::ALL.map(FailureReason::as_str);
    let word = fields.opt_choice("failure_reason", &words)?;
    Ok(word.and_then(FailureReason::from_word))
}

fn check_artifact(fields: &Fields<'_, '_>) -> Result<(), Problem> {
    if let Some(artifact) = fields.opt_fields("artifact")? {
        for key in ["kind", "storage_path", "public_url"] {
            artifact.text(key, TEXT_CHARS_MAX)?;
        }
    }
    Ok(())
}

/// The part of the report that stays with the task: how it went, without the error text.
fn result(fields: &Fields<'_, '_>) -> Result<Box<str>, Problem> {
    let text = serde_json::to_string(&KeptResult(fields)).map_err(|error| Problem::internal(&error))?;
    Ok(text.into())
}

struct KeptResult<'f, 'm, 'a: 'm>(&'f Fields<'m, 'a>);

impl Serialize for KeptResult<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let kept = ["artifact", "failure_reason", "timings"];
        to.collect_map(kept.iter().filter_map(|key| Some((key, self.0.value(key)?))))
    }
}

/// A text that is no id of ours names a run that does not exist: 404, not 422 (N6).
fn job(fields: &Fields<'_, '_>) -> Result<JobId, Problem> {
    Ok(fields.text("run_id", TEXT_CHARS_MAX)?.parse().unwrap_or(JobId::NIL))
}

fn count(fields: &Fields<'_, '_>, key: &str) -> Result<u64, Problem> {
    fields.integer_in(key, 0..=WHOLE_MAX).map(i64::unsigned_abs)
}

const KINDS: [&str; 6] =
    ["node_heartbeat", "run_started", "task_started", "task_progress", "task_finished", "run_finished"];
const TEXT_CHARS_MAX: usize = 4096;
const STEP_CHARS_MAX: usize = 64;
const ERROR_BYTES_MAX: usize = 8192;

#[cfg(test)]
mod tests;
