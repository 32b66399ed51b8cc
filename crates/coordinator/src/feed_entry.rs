//! Entries of the feed: the events as subscribers read them. Events that change nothing durable are left out.

mod frames;
mod pool;

use muster_model::{
    AccountEvent, AlertRecord, Attachment, DeviceReport, Event, Grant, JobId, Name, Outcome, ScheduleEvent,
    ScheduleId, Step, StepStatus, Submission, TaskId, TaskStatus, Timestamp,
};
use std::fmt::{Display, Write};

/// An entry of the feed: its kind and its body.
type Entry = (&'static str, Body);

/// The kinds and the JSON bodies of what one command did, as far as it is published.
pub(crate) fn phrase_all(events: &[Event]) -> impl Iterator<Item = (&'static str, String)> {
    let each = events.iter().enumerate();
    let each = each.filter_map(|(place, event)| phrase(event, events.get(place + 1)));
    each.chain(pool::phrase_all(events)).map(|(kind, body)| (kind, body.close()))
}

/// The entry for an event, if it is published; `next` is the event after it. Every event has an arm of its own here, so
/// that nobody forgets to decide whether a new one is published.
fn phrase(event: &Event, next: Option<&Event>) -> Option<Entry> {
    Some(match event {
        Event::WorkerEnrolled { worker, at } => ("worker_enrolled", of_worker(worker, *at)),
        Event::WorkerOffline { worker, at } => ("worker_offline", of_worker(worker, *at)),
        Event::WorkerOnline { worker, at } => ("worker_online", of_worker(worker, *at)),
        Event::WorkerDraining { worker, draining: true, at } => ("worker_draining", of_worker(worker, *at)),
        Event::WorkerDraining { worker, draining: false, at } => ("worker_resumed", of_worker(worker, *at)),
        Event::WorkerCapped { worker, cap, at } => (
            "worker_capped",
            cap.iter().fold(of_worker(worker, *at), |body, cap| body.raw("max_devices", cap)),
        ),
        Event::SecretRotated { worker, at, .. } => ("secret_rotated", of_worker(worker, *at)),
        Event::HeartbeatChanged { worker, late: true, at } => ("heartbeat_late", of_worker(worker, *at)),
        Event::HeartbeatChanged { worker, late: false, at } => ("heartbeat_back", of_worker(worker, *at)),
        Event::SupplyPaused { worker, until, at } => {
            ("supply_paused", of_worker(worker, *at).raw("until", until.0))
        }
        Event::SupplyResumed { worker, at } => ("supply_resumed", of_worker(worker, *at)),
        Event::ShareClosed { worker, job } => share_closed(worker, *job),
        Event::AlertRaised(alert) => alert_raised(alert),
        Event::LaneAttached { worker, report, at } => device_attached(worker, report, *at),
        Event::LaneReported { lane, attachment, at, .. } => match attachment {
            Attachment::Online => ("device_online", of_device(lane, *at)),
            _ => ("device_offline", of_device(lane, *at)),
        },
        Event::LaneFailed { lane, at } => ("device_error", of_device(lane, *at)),
        Event::LaneReturned { lane, note, at } => {
            ("device_returned", of_device(lane, *at).optional("note", note.as_ref()))
        }
        Event::LaneLabelled { lane, at, .. } => ("device_labelled", of_device(lane, *at)),
        Event::JobSubmitted { job, submission, at } => job_submitted(*job, submission, *at),
        Event::JobActivated { job, at } => ("job_active", Body::at(*at).text("job", job)),
        Event::JobEnded { job, status, outcome, error, at } => {
            let body = Body::at(*at).text("job", job).text("status", status.as_str());
            ("job_ended", body.text("outcome", outcome.as_str()).optional("error", error.as_ref()))
        }
        Event::LeaseGranted(grant) => task_leased(grant),
        Event::LeaseConfirmed { task, attempt, at } => ("task_confirmed", of_attempt(*task, *attempt, *at)),
        Event::TaskProgressed { task, attempt, step } => task_progress(*task, *attempt, step),
        Event::AttemptEnded { task, attempt, outcome, at } => {
            let word = end_word(*task, outcome, next);
            ("attempt_ended", of_attempt(*task, *attempt, *at).text("outcome", word))
        }
        Event::TaskQueued { task, at } => ("task_queued", Body::at(*at).text("task", task)),
        Event::TaskForgiven { task } => ("task_forgiven", Body::new().text("task", task)),
        Event::TaskEnded { task, status, error, at, .. } => {
            let body = Body::at(*at).text("task", task).text("status", status.as_str());
            ("task_ended", body.optional("error", error.as_ref()))
        }
        Event::TaskSkipped { task, lane, at, .. } => {
            ("task_skipped", Body::at(*at).text("task", task).text("device", lane))
        }
        Event::Frames(event) => return frames::phrase(event),
        Event::Accounts(event) => return account(event),
        Event::Schedules(event) => schedule(event),
        // All effects of one command on the pool are published together: see `pool::phrase_all`.
        Event::Pool(_) => return None,
        // Leases are renewed all the time; their ends are published.
        Event::LeasesExtended { .. } | Event::LeaseRenewed { .. } => return None,
        // The entry of the task or job that this belongs to says it.
        Event::LaneGraceOver { .. } | Event::JobClosed { .. } | Event::StopEnded { .. } => return None,
        // Messages of workers: what they changed is published.
        Event::ReportRecorded { .. } | Event::PullAnswered { .. } => return None,
    })
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

fn of_worker(worker: &Name, at: Timestamp) -> Body {
    Body::at(at).text("worker", worker)
}

fn of_device(lane: &Name, at: Timestamp) -> Body {
    Body::at(at).text("device", lane)
}

fn of_attempt(task: TaskId, attempt: u16, at: Timestamp) -> Body {
    Body::at(at).text("task", task).raw("attempt", attempt)
}

fn share_closed(worker: &Name, job: JobId) -> Entry {
    ("share_closed", Body::new().text("worker", worker).text("job", job))
}

fn alert_raised(alert: &AlertRecord) -> Entry {
    let body = Body::at(alert.at).text("alert", alert.kind.as_str()).text("worker", &alert.worker);
    ("alert_raised", body.text("message", &alert.message))
}

fn device_attached(worker: &Name, report: &DeviceReport, at: Timestamp) -> Entry {
    let body = of_device(&report.device, at).text("worker", worker);
    ("device_attached", body.raw("online", report.attachment == Attachment::Online))
}

fn job_submitted(job: JobId, submission: &Submission, at: Timestamp) -> Entry {
    let body = Body::at(at).text("job", job).text("queue", &submission.queue);
    ("job_submitted", body.text("workflow", &submission.payload.workflow))
}

fn task_leased(grant: &Grant) -> Entry {
    let body = Body::at(grant.at).text("task", grant.task).text("device", &grant.lane);
    ("task_leased", body.text("worker", &grant.worker).raw("attempt", grant.attempt))
}

fn task_progress(task: TaskId, attempt: u16, step: &Step) -> Entry {
    let status = match step.status {
        StepStatus::Running => "running",
        StepStatus::Done => "done",
    };
    let body = of_attempt(task, attempt, step.at);
    ("task_progress", body.text("step", &step.name).text("status", status))
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

    fn raw(self, key: &str, value: impl Display) -> Self {
        let mut body = self.key(key);
        body.write(value);
        body
    }

    fn text(self, key: &str, value: impl Display) -> Self {
        let mut body = self.key(key);
        let begin = body.0.len() + 1;
        body.0.push('"');
        body.write(value);
        let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
        if body.0.bytes().skip(begin).all(is_plain) {
            body.0.push('"');
            return body;
        }
        let text = body.0.split_off(begin);
        body.0.pop();
        body.write(serde_json::Value::String(text));
        body
    }

    fn key(mut self, key: &str) -> Self {
        let before = if self.0.len() > 1 { ",\"" } else { "\"" };
        [before, key, "\":"].into_iter().for_each(|part| self.0.push_str(part));
        self
    }

    fn write(&mut self, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{value}");
    }

    fn optional(self, key: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// The entry for a change of accounts, if it is published: nothing that opens a door.
fn account(event: &AccountEvent) -> Option<Entry> {
    Some(match event {
        AccountEvent::UserAdded(user) => ("user_added", Body::at(user.created_at).raw("user", user.id)),
        AccountEvent::UserChanged { user, change, at } => {
            let body = Body::at(*at).raw("user", user);
            ("user_changed", change.active.iter().fold(body, |body, active| body.raw("active", active)))
        }
        AccountEvent::KeyAdded(key) => {
            ("api_key_added", Body::at(key.created_at).raw("user", key.user).raw("key", key.id))
        }
        AccountEvent::KeyRevoked { key, at } => ("api_key_revoked", Body::at(*at).raw("key", key)),
        // Logins and uses of keys come by the thousand, and are their user's own affair.
        AccountEvent::LoginBegan(_)
        | AccountEvent::LoginRefreshed(_)
        | AccountEvent::LoginEnded { .. }
        | AccountEvent::KeyTouched { .. } => return None,
    })
}

/// The entry for an event of a schedule (Q17).
fn schedule(event: &ScheduleEvent) -> Entry {
    match event {
        ScheduleEvent::Created(record) => {
            let body = of_schedule(record.id, record.created_at).text("cron", &record.draft.cron);
            (
                "schedule_created",
                with_next(body.text("timezone", &record.draft.timezone), record.draft.next_at),
            )
        }
        ScheduleEvent::Fired { schedule, slot, next_at, job, at } => {
            let body = of_schedule(*schedule, *at).raw("slot", slot.0).text("job", job);
            ("schedule_fired", with_next(body, *next_at))
        }
        ScheduleEvent::Skipped { schedule, next_at, at } => {
            ("schedule_skipped", with_next(of_schedule(*schedule, *at), *next_at))
        }
        ScheduleEvent::Deleted { schedule, at } => ("schedule_deleted", of_schedule(*schedule, *at)),
    }
}

fn of_schedule(schedule: ScheduleId, at: Timestamp) -> Body {
    Body::at(at).text("schedule", schedule)
}

fn with_next(body: Body, next_at: Option<Timestamp>) -> Body {
    next_at.iter().fold(body, |body, next| body.raw("next_at", next.0))
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
        let online = [Event::WorkerOnline { worker, at: Timestamp(7) }];
        let (kind, body) = phrase_all(&online).next().expect("published");
        assert_eq!((kind, body.as_str()), ("worker_online", r#"{"at":7,"worker":"PC \"01\""}"#));
    }
}
