//! Pulls and their answers as JSON (N1).

use crate::{
    Attached, Job, Text,
    core::{PullAnswer, PullRequest, RunOffer},
};
use muster_model::{Attachment, Millis};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// The body of a pull (N1).
#[must_use]
pub fn write_pull(node: &str, request: &PullRequest) -> Vec<u8> {
    let mut body = json!({"node_id": node, "max_jobs": request.max_jobs});
    if let Some(wait) = request.wait {
        body["wait_ms"] = wait.0.into();
    }
    if let Some(devices) = &request.devices {
        body["devices"] = devices.iter().map(device).collect();
    }
    body.to_string().into_bytes()
}

/// The answer to a pull, and how many of its jobs make no sense and were left out.
///
/// # Errors
/// The bytes are no answer to a pull.
pub fn read_pull(bytes: &[u8]) -> Result<(PullAnswer, usize), serde_json::Error> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        // serde takes an array for a struct; a backend that sends one means something else.
        return Err(serde::de::Error::custom("not an object"));
    }
    let answer: Answer = serde_json::from_slice(bytes)?;
    let read = |job: &RawValue| serde_json::from_str::<JobOffer>(job.get()).ok().and_then(JobOffer::job);
    let jobs: Vec<Job> = answer.jobs.iter().filter_map(|job| read(job)).collect();
    let left_out = answer.jobs.len() - jobs.len();
    let runs = answer.runs.into_iter().filter(|run| is_sane(&run.run_id)).map(|run| RunOffer {
        run: run.run_id,
        targets: run.target_devices_count,
        max_concurrency: run.max_concurrency,
    });
    let answer = PullAnswer {
        runs: runs.collect(),
        jobs,
        finished_runs: answer.finished_runs.into_iter().filter(is_sane).collect(),
        stop: answer.stop,
        stop_jobs: answer.stop_jobs.iter().filter_map(|job| read(job)).collect(),
        warnings: warnings(&answer.warnings),
    };
    Ok((answer, left_out))
}

fn device(attached: &Attached) -> Value {
    let status = match attached.attachment {
        Attachment::Online => "online",
        Attachment::Offline | Attachment::Absent => "offline",
        Attachment::Unauthorized => "unauthorized",
        Attachment::Error => "error",
    };
    json!({"device_id": &*attached.device, "runtime_handle": &*attached.handle, "status": status})
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    runs: Vec<RunFields>,
    #[serde(default)]
    jobs: Vec<Box<RawValue>>,
    #[serde(default)]
    finished_runs: Vec<Text>,
    #[serde(default)]
    stop: Vec<Text>,
    #[serde(default)]
    stop_jobs: Vec<Box<RawValue>>,
    /// Muster's own, so anything may stand there elsewhere.
    #[serde(default)]
    warnings: Value,
}

#[derive(Deserialize)]
struct RunFields {
    run_id: Text,
    #[serde(default)]
    target_devices_count: u64,
    #[serde(default)]
    max_concurrency: u64,
}

#[derive(Deserialize)]
struct JobOffer {
    task_id: Text,
    run_id: Text,
    device_id: Text,
    runtime_handle: Option<Text>,
    #[serde(default)]
    workflow_id: Text,
    params: Option<Box<RawValue>>,
    #[serde(rename = "timeoutMs")]
    timeout_ms: Option<i64>,
    attempt: Option<u32>,
    lease: Option<LeaseOffer>,
}

#[derive(Deserialize)]
struct LeaseOffer {
    token: Option<Text>,
}

impl JobOffer {
    fn job(self) -> Option<Job> {
        let ids = [&self.task_id, &self.run_id, &self.device_id];
        let token = self.lease.and_then(|lease| lease.token);
        let others = [Some(&self.workflow_id), self.runtime_handle.as_ref(), token.as_ref()];
        if !ids.into_iter().all(is_sane)
            || others.into_iter().flatten().any(|text| text.len() > TEXT_BYTES_MAX)
        {
            return None;
        }
        let params = self.params.as_ref().map_or("{}", |params| params.get());
        Some(Job {
            handle: self.runtime_handle.unwrap_or_else(|| self.device_id.clone()),
            params: if params == "null" { "{}" } else { params }.into(),
            timeout: Millis(self.timeout_ms.unwrap_or(TIMEOUT_MS).clamp(1, TIMEOUT_MS_MAX)),
            attempt: self.attempt.unwrap_or(1),
            token,
            task: self.task_id,
            run: self.run_id,
            device: self.device_id,
            workflow: self.workflow_id,
        })
    }
}

/// Whether a text may name something: events with longer ones would not fit into the spool.
fn is_sane(text: &Text) -> bool {
    (1..=TEXT_BYTES_MAX).contains(&text.len())
}

/// What others wrote must not steer the log, nor fill it.
fn warnings(told: &Value) -> Vec<Text> {
    let one_line = |text: &str| -> String {
        text.chars().take(TEXT_BYTES_MAX).map(|char| if char.is_control() { ' ' } else { char }).collect()
    };
    let texts = told.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.take(WARNINGS_MAX).map(|text| one_line(text).into()).collect()
}

const TEXT_BYTES_MAX: usize = 1024;
const WARNINGS_MAX: usize = 10;
/// Where a backend gives no limit: the coordinator's own for an attempt (Q9).
const TIMEOUT_MS: i64 = 1_200_000;
const TIMEOUT_MS_MAX: i64 = 24 * 3_600_000;
