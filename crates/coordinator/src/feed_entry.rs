//! How subscribers read what happened. Events that change nothing durable are not told.

mod accounts;
mod frames;
mod pool;
mod schedules;

use muster_model::{Event, Outcome, TaskId, TaskStatus, Timestamp};
use std::fmt::{Display, Write};

/// The kinds and the JSON bodies of what one command did, as far as it is told.
pub(crate) fn phrase_all(events: &[Event]) -> impl Iterator<Item = (&'static str, String)> {
    let each = events.iter().enumerate().filter_map(|(place, event)| match event {
        Event::AttemptEnded { task, attempt, outcome, at } => {
            let word = end_word(*task, outcome, events.get(place + 1));
            let body = Body::at(*at).text("task", task).raw("attempt", attempt);
            Some(finish(("attempt_ended", body.text("outcome", word))))
        }
        event => phrase(event),
    });
    each.chain(pool::phrase_all(events).map(finish))
}

/// An attempt that ended otherwise than well and whose task was closed as cancelled at once did what was asked of it:
/// agents have no word of their own for that, and say `unknown` (N13).
fn end_word(task: TaskId, outcome: &Outcome, next: Option<&Event>) -> &'static str {
    match next {
        Some(Event::TaskEnded { task: ended, status: TaskStatus::Cancelled, .. })
            if *ended == task && *outcome != Outcome::Succeeded =>
        {
            "cancelled"
        }
        _ => outcome_word(outcome),
    }
}

fn phrase(event: &Event) -> Option<(&'static str, String)> {
    if let Event::Frames(event) = event {
        return frames::phrase(event).map(finish);
    }
    if let Event::Accounts(event) = event {
        return accounts::phrase(event).map(finish);
    }
    if let Event::Schedules(event) = event {
        return Some(finish(schedules::phrase(event)));
    }
    about_workers(event)
        .or_else(|| about_devices(event))
        .or_else(|| about_jobs(event))
        .or_else(|| about_tasks(event))
}

fn about_workers(event: &Event) -> Option<(&'static str, String)> {
    let told = match event {
        Event::WorkerEnrolled { worker, at } => ("worker_enrolled", Body::at(*at).text("worker", worker)),
        Event::WorkerOffline { worker, at } => ("worker_offline", Body::at(*at).text("worker", worker)),
        Event::WorkerOnline { worker, at } => ("worker_online", Body::at(*at).text("worker", worker)),
        Event::WorkerDraining { worker, draining, at } => (
            if *draining { "worker_draining" } else { "worker_resumed" },
            Body::at(*at).text("worker", worker),
        ),
        Event::WorkerCapped { worker, cap, at } => {
            let body = Body::at(*at).text("worker", worker);
            ("worker_capped", cap.iter().fold(body, |body, cap| body.raw("max_devices", cap)))
        }
        Event::SecretRotated { worker, at, .. } => ("secret_rotated", Body::at(*at).text("worker", worker)),
        Event::HeartbeatChanged { worker, late, at } => {
            (if *late { "heartbeat_late" } else { "heartbeat_back" }, Body::at(*at).text("worker", worker))
        }
        Event::SupplyPaused { worker, until, at } => {
            ("supply_paused", Body::at(*at).text("worker", worker).raw("until", until.0))
        }
        Event::SupplyResumed { worker, at } => ("supply_resumed", Body::at(*at).text("worker", worker)),
        Event::ShareClosed { worker, job } => {
            ("share_closed", Body::new().text("worker", worker).text("job", job))
        }
        Event::AlertRaised(alert) => {
            let body = Body::at(alert.at).text("alert", alert.kind.as_str()).text("worker", &alert.worker);
            ("alert_raised", body.text("message", &alert.message))
        }
        _ => return None,
    };
    Some(finish(told))
}

fn about_devices(event: &Event) -> Option<(&'static str, String)> {
    let told = match event {
        Event::LaneAttached { worker, report, at } => {
            let body = Body::at(*at).text("device", &report.device).text("worker", worker);
            ("device_attached", body.raw("online", report.attachment == muster_model::Attachment::Online))
        }
        Event::LaneReported { lane, attachment, at, .. } => {
            let online = *attachment == muster_model::Attachment::Online;
            (if online { "device_online" } else { "device_offline" }, Body::at(*at).text("device", lane))
        }
        Event::LaneFailed { lane, at } => ("device_error", Body::at(*at).text("device", lane)),
        Event::LaneReturned { lane, note, at } => {
            let body = Body::at(*at).text("device", lane);
            ("device_returned", note.iter().fold(body, |body, note| body.text("note", note)))
        }
        Event::LaneLabelled { lane, at, .. } => ("device_labelled", Body::at(*at).text("device", lane)),
        _ => return None,
    };
    Some(finish(told))
}

fn about_jobs(event: &Event) -> Option<(&'static str, String)> {
    let told = match event {
        Event::JobSubmitted { job, submission, at } => {
            let body = Body::at(*at).text("job", job).text("queue", &submission.queue);
            ("job_submitted", body.text("workflow", &submission.payload.workflow))
        }
        Event::JobActivated { job, at } => ("job_active", Body::at(*at).text("job", job)),
        Event::JobEnded { job, status, outcome, error, at } => {
            let body = Body::at(*at).text("job", job).text("status", status.as_str());
            let body = body.text("outcome", outcome.as_str());
            ("job_ended", error.iter().fold(body, |body, error| body.text("error", error)))
        }
        _ => return None,
    };
    Some(finish(told))
}

fn about_tasks(event: &Event) -> Option<(&'static str, String)> {
    let told = match event {
        Event::LeaseGranted(grant) => {
            let body = Body::at(grant.at).text("task", grant.task).text("device", &grant.lane);
            ("task_leased", body.text("worker", &grant.worker).raw("attempt", grant.attempt))
        }
        Event::LeaseConfirmed { task, attempt, at } => {
            ("task_confirmed", Body::at(*at).text("task", task).raw("attempt", attempt))
        }
        Event::TaskProgressed { task, attempt, step } => {
            let status = match step.status {
                muster_model::StepStatus::Running => "running",
                muster_model::StepStatus::Done => "done",
            };
            let body = Body::at(step.at).text("task", task).raw("attempt", attempt);
            ("task_progress", body.text("step", &step.name).text("status", status))
        }
        Event::TaskQueued { task, at } => ("task_queued", Body::at(*at).text("task", task)),
        Event::TaskForgiven { task } => ("task_forgiven", Body::new().text("task", task)),
        Event::TaskEnded { task, status, error, at, .. } => {
            let body = Body::at(*at).text("task", task).text("status", status.as_str());
            ("task_ended", error.iter().fold(body, |body, error| body.text("error", error)))
        }
        Event::TaskSkipped { task, lane, at, .. } => {
            ("task_skipped", Body::at(*at).text("task", task).text("device", lane))
        }
        _ => return None,
    };
    Some(finish(told))
}

fn finish((kind, body): (&'static str, Body)) -> (&'static str, String) {
    (kind, body.close())
}

fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Succeeded => "succeeded",
        Outcome::Failed { reason, .. } => reason.map_or("failed", |reason| reason.as_str()),
        Outcome::TimedOut | Outcome::LeaseLost => "timed_out",
    }
}

/// A JSON object in the making.
struct Body(String);

impl Body {
    fn new() -> Self {
        let mut text = String::with_capacity(160);
        text.push('{');
        Self(text)
    }

    fn at(at: Timestamp) -> Self {
        Self::new().raw("at", at.0)
    }

    fn raw(mut self, key: &str, value: impl Display) -> Self {
        let comma = if self.0.len() > 1 { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{comma}\"{key}\":{value}");
        self
    }

    fn text(self, key: &str, value: impl Display) -> Self {
        let value = value.to_string();
        let plain = value.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
        match plain {
            true => self.raw(key, format_args!("\"{value}\"")),
            false => self.raw(key, serde_json::Value::String(value)),
        }
    }

    fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{FailureReason, JobId, Name};

    fn attempt_told(outcome: Outcome, status: TaskStatus) -> String {
        let (task, at) = (TaskId { job: JobId(1), ordinal: 1 }, Timestamp(7));
        let ended = Event::TaskEnded { task, status, error: None, result: None, at };
        let events = [Event::AttemptEnded { task, attempt: 1, outcome, at }, ended];
        let (kind, body) = phrase_all(&events).next().expect("told");
        assert_eq!(kind, "attempt_ended");
        let body: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        body["outcome"].as_str().expect("a word").to_owned()
    }

    /// Q7, N13: what was stopped because its run was cancelled is no failure, whatever its agent called it.
    #[test]
    fn a_stopped_attempt_is_called_cancelled() {
        let unknown = || Outcome::Failed { reason: Some(FailureReason::Unknown), error: None };
        assert_eq!(attempt_told(unknown(), TaskStatus::Cancelled), "cancelled");
        assert_eq!(attempt_told(Outcome::LeaseLost, TaskStatus::Cancelled), "cancelled");
        assert_eq!(attempt_told(Outcome::Succeeded, TaskStatus::Cancelled), "succeeded");
        assert_eq!(attempt_told(unknown(), TaskStatus::Failed), "unknown");
    }

    #[test]
    fn a_body_is_json_whatever_the_names() {
        let worker = Name::new("PC \"01\"").expect("a name");
        let (kind, body) = phrase(&Event::WorkerOnline { worker, at: Timestamp(7) }).expect("told");
        assert_eq!((kind, body.as_str()), ("worker_online", r#"{"at":7,"worker":"PC \"01\""}"#));
    }
}
