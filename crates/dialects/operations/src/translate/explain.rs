//! Why something is not running, in one sentence and as data (Q16).

use crate::wire::Why;
use muster_model::{Cause, Explanation, Name, Subject, Timestamp};
use serde_json::{Map, Value, json};

/// What `GET /api/explain/{kind}/{id}` asks about; `None` where there can be no such thing.
pub(crate) fn read_subject(kind: &str, id: &str) -> Option<Subject> {
    match kind {
        "run" => id.parse().ok().map(Subject::Job),
        "task_device" => id.parse().ok().map(Subject::Task),
        "device" => Name::new(id).ok().map(Subject::Lane),
        "node" => Name::new(id).ok().map(Subject::Worker),
        // Workers and jobs of the other contracts are not known in this version, nor is any other kind.
        _ => None,
    }
}

/// The answer.
pub(crate) fn show_why(explanation: &Explanation, now: Timestamp) -> Why {
    let (kind, id) = subject(&explanation.subject);
    let (rule, code) = explanation.cause.rule_and_code();
    let what = format!("{} {id}", if kind == "task_device" { "task device" } else { kind });
    let sentence = format!("The {what} {}.", predicate(&explanation.cause, now));
    Why { kind, id, code, rule, sentence, data: data(&explanation.cause) }
}

fn subject(subject: &Subject) -> (&'static str, String) {
    match subject {
        Subject::Job(job) => ("run", job.to_string()),
        Subject::Task(task) => ("task_device", task.to_string()),
        Subject::Lane(lane) => ("device", lane.to_string()),
        Subject::Worker(worker) => ("node", worker.to_string()),
    }
}

/// The sentence after its subject.
fn predicate(cause: &Cause, now: Timestamp) -> String {
    match cause {
        Cause::Running { leases: 1 } => "is running: 1 attempt is live".to_owned(),
        Cause::Running { leases } => format!("is running: {leases} attempts are live"),
        Cause::JobEnded { status } => format!("has ended with status {}", status.as_str()),
        Cause::TaskEnded { status } => format!("has ended with status {}", status.as_str()),
        Cause::QueuedBehind { active, ahead: 1 } => format!("is queued behind run {active}, which is active"),
        Cause::QueuedBehind { active, ahead } => {
            format!("is queued behind {ahead} older runs of its queue; run {active} is active")
        }
        Cause::NoSlot { worker, running, cap } => {
            format!("waits for a free slot: node {worker} runs {running} of at most {cap}")
        }
        Cause::LaneBusy { lane, task } => format!("waits because task device {task} holds device {lane}"),
        Cause::DeviceError { lane } => {
            format!(
                "is held back because device {lane} is out of service (ERROR) until an operator returns it"
            )
        }
        Cause::DeviceOffline { lane, since } => {
            format!("waits because device {lane} has been offline for {}", span(*since, now))
        }
        Cause::NodeOffline { worker, since } => {
            format!("waits because node {worker} has been silent for {}", span(*since, now))
        }
        Cause::NodeDraining { worker } => {
            format!("waits because node {worker} is draining until an operator resumes it")
        }
        Cause::SupplyPaused { worker, until } => {
            format!(
                "waits because supply to node {worker} rests for another {} after a mass dropout",
                span(now, *until)
            )
        }
        Cause::AwaitingRedelivery { task, at } => {
            format!(
                "waits because task device {task} was handed out and not confirmed; it goes out again in {}",
                span(now, *at)
            )
        }
        Cause::WaitingForDevices { until } => {
            format!("matches no device; it ends as failed in {} unless one appears", span(now, *until))
        }
        Cause::AwaitingRetry { task, attempt } => {
            format!(
                "waits because attempt {attempt} of task device {task} failed and its retry queues behind the PC's other devices"
            )
        }
        Cause::AwaitingPull { worker } => format!("is ready and waits for node {worker} to ask for work"),
        Cause::Stopping { task } => {
            format!(
                "is stopping: the run of task device {task} was cancelled and its node has not reported the end"
            )
        }
        Cause::AlreadyServed { lane, job } => {
            format!("has nothing to do because run {job} has served device {lane}")
        }
        Cause::OutOfScope { lane } => format!("has nothing to do because no active run is for device {lane}"),
        Cause::NoWork => "has nothing to do because there is no work".to_owned(),
    }
}

fn data(cause: &Cause) -> Map<String, Value> {
    let data = match cause {
        Cause::Running { leases } => json!({"running": leases}),
        Cause::JobEnded { status } => json!({"status": status.as_str()}),
        Cause::TaskEnded { status } => json!({"status": status.as_str()}),
        Cause::QueuedBehind { active, ahead } => json!({"active_run_id": active.to_string(), "ahead": ahead}),
        Cause::NoSlot { worker, running, cap } => {
            json!({"node_id": worker.as_str(), "running": running, "max_devices": cap})
        }
        Cause::LaneBusy { lane, task } => {
            json!({"device_id": lane.as_str(), "task_device_id": task.to_string()})
        }
        Cause::DeviceError { lane } | Cause::OutOfScope { lane } => json!({"device_id": lane.as_str()}),
        Cause::DeviceOffline { lane, since } => json!({"device_id": lane.as_str(), "since": since.0}),
        Cause::NodeOffline { worker, since } => json!({"node_id": worker.as_str(), "since": since.0}),
        Cause::NodeDraining { worker } | Cause::AwaitingPull { worker } => {
            json!({"node_id": worker.as_str()})
        }
        Cause::SupplyPaused { worker, until } => json!({"node_id": worker.as_str(), "until": until.0}),
        Cause::AwaitingRedelivery { task, at } => json!({"task_device_id": task.to_string(), "at": at.0}),
        Cause::WaitingForDevices { until } => json!({"until": until.0}),
        Cause::AwaitingRetry { task, attempt } => {
            json!({"task_device_id": task.to_string(), "attempt": attempt})
        }
        Cause::Stopping { task } => json!({"task_device_id": task.to_string()}),
        Cause::AlreadyServed { lane, job } => json!({"device_id": lane.as_str(), "run_id": job.to_string()}),
        Cause::NoWork => json!({}),
    };
    match data {
        Value::Object(data) => data,
        _ => Map::new(),
    }
}

/// A span as people say it; nothing lies in the past or the future by less than nothing.
fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = (to - from).0.max(0) / 1000;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
