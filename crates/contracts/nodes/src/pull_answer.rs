//! The answer to a pull (N1): as the coordinator writes it and as a node reads it.

use crate::{Attempt, Text};
use muster_model::{Handout, JobAnnounced, JobId, JobPayload, Millis, Name, PullReply, Timestamp};
use muster_problem::{WireMutant, planted};
use serde::{Deserialize, Serialize, de::Error};
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;

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
    /// Endpoints that this coordinator has besides those of the first version, by the end of their path.
    pub features: &'static [&'static str],
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

// The coordinator gives every field; a backend of another make may leave out those that are optional here.
/// One job for one device.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct JobOffer<'a> {
    /// The job's id; the same over retries.
    #[serde(borrow)]
    pub task_id: Cow<'a, str>,
    /// Its run.
    #[serde(borrow)]
    pub run_id: Cow<'a, str>,
    /// The device's serial.
    #[serde(borrow)]
    pub device_id: Cow<'a, str>,
    /// Whatever reaches the device now.
    #[schema(value_type = String)]
    pub runtime_handle: Option<Cow<'a, str>>,
    /// What to execute.
    #[serde(borrow, default)]
    #[schema(required = true)]
    pub workflow_id: Cow<'a, str>,
    /// Parameters of the workflow.
    #[serde(borrow)]
    #[schema(value_type = Object)]
    pub params: Option<&'a RawValue>,
    /// How long it may take.
    #[serde(rename = "timeoutMs")]
    #[schema(value_type = i64)]
    pub timeout_ms: Option<i64>,
    /// The nth try.
    #[schema(value_type = u16)]
    pub attempt: Option<u32>,
    /// The right to it.
    #[schema(value_type = LeaseOffer)]
    pub lease: Option<LeaseOffer>,
}

/// The right to one attempt.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct LeaseOffer {
    /// Proves that a report speaks of this attempt.
    #[schema(value_type = String)]
    pub token: Option<String>,
    /// When it ends if nothing is heard, epoch milliseconds.
    #[serde(default, deserialize_with = "crate::not_needed")]
    #[schema(required = true)]
    pub until: i64,
}

/// The part of a run that the engine does not keep: what to execute, with which parameters.
#[derive(Clone, Debug)]
pub struct RunPayload {
    workflow: Arc<JobPayload>,
    params: Box<RawValue>,
    timeout: Millis,
}

impl RunPayload {
    /// Takes a job's payload; its params are passed on letter by letter, never read.
    ///
    /// # Errors
    /// When the params are not JSON, which only a damaged store can bring about.
    pub fn new(payload: Arc<JobPayload>, attempt_timeout: Millis) -> Result<Self, serde_json::Error> {
        let params = RawValue::from_string(payload.params.to_string())?;
        let timeout = payload.timeout.unwrap_or(attempt_timeout);
        Ok(Self { workflow: payload, params, timeout })
    }
}

/// Writes the answer to a pull (N1). A job whose run is not among `runs` is left out: it is handed out again (N2).
#[must_use]
pub fn answer_pull<'a>(
    reply: &PullReply,
    runs: &'a BTreeMap<JobId, RunPayload>,
    now: Timestamp,
) -> PullAnswer<'a> {
    let announced = reply.announced.iter().filter_map(|job| Some(run_offer(job, runs.get(&job.job)?)));
    let handouts = reply.handouts.iter().filter_map(|job| Some(job_offer(job, runs.get(&job.task.job)?)));
    let stopped = if planted(WireMutant::StopLeftOut) { &[] } else { &reply.stop[..] };
    PullAnswer {
        now: now.0,
        runs: announced.collect(),
        jobs: handouts.collect(),
        finished_runs: reply.finished.iter().map(ToString::to_string).collect(),
        stop: stopped.iter().map(ToString::to_string).collect(),
        stop_jobs: reply.stopping.iter().map(stop_offer).collect(),
        warnings: reply.contested.iter().map(|(device, node)| contested(device, node)).collect(),
        features: if planted(WireMutant::FeaturesLeftOut) { &[] } else { &FEATURES },
    }
}

/// The warning that two nodes take a device from each other (N1b).
fn contested(device: &Name, node: &Name) -> String {
    format!(
        "node {node} reports device {device} as well, and the two take it from each other; let one of them report it \
         (simulated devices begin at another number with simulated:COUNT@FIRST)"
    )
}

fn run_offer<'a>(announced: &JobAnnounced, run: &'a RunPayload) -> RunOffer<'a> {
    RunOffer {
        run_id: announced.job.to_string(),
        workflow_id: &run.workflow.workflow,
        params: &run.params,
        timeout_ms: run.timeout.0,
        target_devices_count: announced.targets,
        max_concurrency: announced.slots,
    }
}

fn job_offer<'a>(handout: &Handout, run: &'a RunPayload) -> JobOffer<'a> {
    JobOffer {
        task_id: handout.task.to_string().into(),
        run_id: handout.task.job.to_string().into(),
        device_id: handout.lane.to_string().into(),
        runtime_handle: Some(handout.handle.to_string().into()),
        workflow_id: Cow::Borrowed(&run.workflow.workflow),
        params: Some(&run.params),
        timeout_ms: Some(run.timeout.0),
        attempt: (!planted(WireMutant::AttemptLeftOut)).then_some(handout.attempt.into()),
        lease: Some(lease_offer(handout)),
    }
}

fn stop_offer(handout: &Handout) -> StopOffer {
    StopOffer {
        task_id: handout.task.to_string(),
        run_id: handout.task.job.to_string(),
        device_id: handout.lane.to_string(),
        runtime_handle: handout.handle.to_string(),
        attempt: handout.attempt,
        lease: lease_offer(handout),
    }
}

fn lease_offer(handout: &Handout) -> LeaseOffer {
    LeaseOffer { token: Some(handout.fence.to_string()), until: handout.until.0 }
}

/// A pull's answer as a node understands it (N1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PulledWork {
    /// Runs of which this answer carries the node's first job.
    pub runs: Vec<AnnouncedRun>,
    /// Jobs to execute.
    pub jobs: Vec<Job>,
    /// Runs that hold nothing more for this node.
    pub finished_runs: Vec<Text>,
    /// Tasks to end.
    pub stop: Vec<Text>,
    /// More about those of `stop` that a backend thinks are running here; Muster's sends it, others need not.
    pub stop_jobs: Vec<Job>,
    /// Warnings for the people who run the node; Muster's sends them, others need not.
    pub warnings: Vec<Text>,
    /// Endpoints that the backend offers besides those that every backend has.
    pub features: Vec<Text>,
}

impl PulledWork {
    /// True if the backend takes several callbacks in one request (N25).
    #[must_use]
    pub fn offers_callbacks(&self) -> bool {
        self.features.iter().any(|feature| **feature == *CALLBACKS)
    }
}

/// A run new to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedRun {
    /// Which.
    pub run: Text,
    /// Its devices at this node.
    pub targets: u64,
    /// Maximum number of tasks that run at once here.
    pub max_concurrency: u64,
}

/// One attempt of one task, as a backend handed it out (N1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which task.
    pub task: Text,
    /// Of which run.
    pub run: Text,
    /// On which device: its immutable serial.
    pub device: Text,
    /// Whatever reached the device when the job was handed out.
    pub handle: Text,
    /// Workflow to execute.
    pub workflow: Text,
    /// Parameters of the workflow: a JSON object as text.
    pub params: Text,
    /// Time limit.
    pub timeout: Millis,
    /// The nth try.
    pub attempt: u32,
    /// Proof of the lease, where the backend gave one.
    pub token: Option<Text>,
}

impl Job {
    /// Its attempt, by the handle that reaches its device now.
    #[must_use]
    pub fn attempt_by(&self, handle: &Text) -> Attempt {
        Attempt {
            run: self.run.clone(),
            task: self.task.clone(),
            device: self.device.clone(),
            handle: handle.clone(),
            number: self.attempt,
            token: self.token.clone(),
        }
    }
}

/// Reads the answer to a pull, and counts the jobs in it that make no sense and were left out.
///
/// # Errors
/// The bytes are not an answer to a pull.
pub fn read_pull_answer(bytes: &[u8]) -> Result<(PulledWork, usize), serde_json::Error> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        // serde takes an array for a struct; a backend that sends one means something else.
        return Err(Error::custom("not an object"));
    }
    let answer: LenientAnswer<'_> = serde_json::from_slice(bytes)?;
    let read = |job: &&RawValue| serde_json::from_str::<JobOffer<'_>>(job.get()).ok().and_then(JobOffer::job);
    let jobs: Vec<Job> = answer.jobs.iter().filter_map(read).collect();
    let left_out = answer.jobs.len() - jobs.len();
    let runs = answer.runs.into_iter().filter(|run| is_sane(&run.run_id)).map(|run| AnnouncedRun {
        run: run.run_id,
        targets: run.target_devices_count,
        max_concurrency: run.max_concurrency,
    });
    let work = PulledWork {
        runs: runs.collect(),
        jobs,
        finished_runs: answer.finished_runs.into_iter().filter(|run| is_sane(run)).collect(),
        stop: answer.stop,
        stop_jobs: answer.stop_jobs.iter().filter_map(read).collect(),
        warnings: lines(&answer.warnings, WARNINGS_MAX),
        features: lines(&answer.features, FEATURES_MAX),
    };
    Ok((work, left_out))
}

/// A [`PullAnswer`] of any backend: each job is read on its own, so that a bad one does not cost the others.
#[derive(Deserialize)]
struct LenientAnswer<'a> {
    #[serde(default)]
    runs: Vec<LenientRun>,
    #[serde(borrow, default)]
    jobs: Vec<&'a RawValue>,
    #[serde(default)]
    finished_runs: Vec<Text>,
    #[serde(default)]
    stop: Vec<Text>,
    #[serde(borrow, default)]
    stop_jobs: Vec<&'a RawValue>,
    /// Muster's own, so anything may stand there elsewhere.
    #[serde(default)]
    warnings: Value,
    #[serde(default)]
    features: Value,
}

#[derive(Deserialize)]
struct LenientRun {
    run_id: Text,
    #[serde(default)]
    target_devices_count: u64,
    #[serde(default)]
    max_concurrency: u64,
}

impl JobOffer<'_> {
    /// The job, unless a text in it is missing or too long.
    fn job(self) -> Option<Job> {
        let ids = [&self.task_id, &self.run_id, &self.device_id];
        let token = self.lease.and_then(|lease| lease.token);
        let others = [Some(&*self.workflow_id), self.runtime_handle.as_deref(), token.as_deref()];
        if !ids.into_iter().all(|id| is_sane(id))
            || others.into_iter().flatten().any(|text| text.len() > TEXT_BYTES_MAX)
        {
            return None;
        }
        Some(Job {
            handle: self.runtime_handle.as_ref().unwrap_or(&self.device_id).as_ref().into(),
            params: self.params.map_or("{}", RawValue::get).into(),
            timeout: Millis(self.timeout_ms.unwrap_or(TIMEOUT_MS).clamp(1, TIMEOUT_MS_MAX)),
            attempt: self.attempt.unwrap_or(1),
            token: token.map(Into::into),
            task: self.task_id.into(),
            run: self.run_id.into(),
            device: self.device_id.into(),
            workflow: self.workflow_id.into(),
        })
    }
}

/// True if a text may name something: events with longer ones would not fit into the spool.
fn is_sane(text: &str) -> bool {
    (1..=TEXT_BYTES_MAX).contains(&text.len())
}

/// Reads texts as single lines of limited length, because foreign text must not steer the log, nor fill it.
fn lines(value: &Value, count_max: usize) -> Vec<Text> {
    let one_line = |text: &str| -> String {
        text.chars().take(TEXT_BYTES_MAX).map(|char| if char.is_control() { ' ' } else { char }).collect()
    };
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.take(count_max).map(|text| one_line(text).into()).collect()
}

const TEXT_BYTES_MAX: usize = 1024;
const WARNINGS_MAX: usize = 10;
const FEATURES_MAX: usize = 100;
/// The feature of several callbacks in one request (N25).
pub const CALLBACKS: &str = "callbacks";
const FEATURES: [&str; 1] = [CALLBACKS];
/// Timeout if a backend gives none: the coordinator's own for an attempt (Q9).
const TIMEOUT_MS: i64 = 1_200_000;
const TIMEOUT_MS_MAX: i64 = 24 * 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_model::{Fence, TaskId};
    use serde_json::json;

    fn payload(params: &str, timeout: Option<Millis>) -> Arc<JobPayload> {
        Arc::new(JobPayload {
            title: None,
            workflow: "w1".into(),
            params: params.into(),
            timeout,
            schedule: None,
        })
    }

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    fn handout(task: TaskId) -> Handout {
        let (lane, handle) = (name("d1"), name("h1"));
        Handout { task, lane, handle, attempt: 2, fence: Fence(0xab), until: Timestamp(9) }
    }

    /// N1: what a node holds and must stop comes with all that a report of its end needs.
    #[test]
    fn a_stop_says_what_a_report_of_the_end_needs() {
        let task = TaskId { job: JobId(1), ordinal: 7 };
        let reply = PullReply { stop: vec![task], stopping: vec![handout(task)], ..PullReply::default() };
        let answer = serde_json::to_value(answer_pull(&reply, &BTreeMap::new(), Timestamp(5))).unwrap();
        let expected = json!([{"task_id": task.to_string(), "run_id": JobId(1).to_string(), "device_id": "d1",
            "runtime_handle": "h1", "attempt": 2,
            "lease": {"token": "000000000000000000000000000000ab", "until": 9}}]);
        assert_eq!(answer["stop_jobs"], expected);
        assert_eq!(answer["stop"], json!([task.to_string()]));
    }

    /// N1b: a node hears who else reports its devices.
    #[test]
    fn a_contest_is_told() {
        let reply = PullReply { contested: Some((name("d1"), name("PC-02"))), ..PullReply::default() };
        let answer = serde_json::to_value(answer_pull(&reply, &BTreeMap::new(), Timestamp(5))).unwrap();
        let told = answer["warnings"][0].as_str().unwrap();
        assert!(told.starts_with("node PC-02 reports device d1 as well"), "{told}");
    }

    /// N1: the answer has exactly the contract's fields, and the params letter by letter.
    #[test]
    fn a_pull_is_answered_in_the_contracts_words() {
        let job = JobId(0x0199_0000_0000_7000_8000_0000_0000_0001);
        let task = TaskId { job, ordinal: 7 };
        let reply = PullReply {
            announced: vec![JobAnnounced { job, targets: 100, slots: 20 }],
            handouts: vec![handout(task)],
            finished: vec![job],
            stop: vec![task],
            stopping: Vec::new(),
            contested: None,
            nothing_new: false,
        };
        let params = r#"{"big":123456789012345678901234567890,"z":1.10,"a":null}"#;
        let runs =
            BTreeMap::from([(job, RunPayload::new(payload(params, None), Millis(1_200_000)).unwrap())]);
        let text = serde_json::to_string(&answer_pull(&reply, &runs, Timestamp(5))).unwrap();
        assert!(text.contains(&format!(r#""params":{params}"#)), "{text}");
        let (run_id, task_id) = (job.to_string(), task.to_string());
        let params: serde_json::Value = serde_json::from_str(params).unwrap();
        let expected = json!({
            "now": 5,
            "runs": [{"run_id": run_id, "workflow_id": "w1", "params": params, "timeoutMs": 1_200_000,
                "target_devices_count": 100, "max_concurrency": 20}],
            "jobs": [{"task_id": task_id, "run_id": run_id, "device_id": "d1", "runtime_handle": "h1",
                "workflow_id": "w1", "params": params, "timeoutMs": 1_200_000, "attempt": 2,
                "lease": {"token": "000000000000000000000000000000ab", "until": 9}}],
            "finished_runs": [run_id],
            "stop": [task_id],
            "features": ["callbacks"],
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
    }

    #[test]
    fn a_run_may_have_a_timeout_of_its_own() {
        assert_eq!(RunPayload::new(payload("{}", Some(Millis(7))), Millis(9)).unwrap().timeout, Millis(7));
        assert!(RunPayload::new(payload("{", None), Millis(9)).is_err());
    }

    /// N1: whatever a backend leaves out has a sensible meaning; a job that makes none is left out, not the answer.
    #[test]
    fn answers_of_any_backend_are_read() {
        let (answer, left_out) = read_pull_answer(
            br#"{"now": 1, "more": [], "jobs": [
                {"task_id": "t", "run_id": "r", "device_id": "d", "runtime_handle": "h", "workflow_id": "w",
                 "params": {"b": 1, "a": [2]}, "timeoutMs": 5, "attempt": 3, "lease": {"token": "x", "until": 9}},
                {"task_id": "t2", "run_id": "r", "device_id": "d2"},
                {"task_id": 7}, {"task_id": "", "run_id": "r", "device_id": "d"}],
                "runs": [{"run_id": "r", "target_devices_count": 4, "max_concurrency": 2}], "stop": ["s"]}"#,
        )
        .unwrap();
        assert_eq!((answer.jobs.len(), left_out), (2, 2));
        assert_eq!(&*answer.jobs[0].params, r#"{"b": 1, "a": [2]}"#);
        assert_eq!((answer.jobs[0].attempt, answer.jobs[0].token.as_deref()), (3, Some("x")));
        assert_eq!(
            (&*answer.jobs[1].handle, &*answer.jobs[1].params, answer.jobs[1].attempt),
            ("d2", "{}", 1)
        );
        assert_eq!((answer.runs[0].targets, &*answer.stop[0]), (4, "s"));
        assert!(answer.warnings.is_empty() && !answer.offers_callbacks());
        assert!(read_pull_answer(b"[]").is_err() && read_pull_answer(b"").is_err());
    }

    /// N1b: warnings are read as lines of a log; a backend that means something else by the word is answered all the same.
    #[test]
    fn warnings_are_lines() {
        let warnings = |told: Value| {
            let (answer, _) =
                read_pull_answer(json!({"jobs": [], "warnings": told}).to_string().as_bytes()).unwrap();
            answer.warnings
        };
        assert_eq!(warnings(json!(["a\u{1b}b", 7, "c"])), texts(&["a b", "c"]));
        assert_eq!((warnings(json!("x")), warnings(json!({"x": 1}))), (texts(&[]), texts(&[])));
        assert_eq!(warnings(json!(vec!["x"; 99])).len(), 10);
    }

    /// N1, N25: a node knows from the features whether it may send several callbacks at once.
    #[test]
    fn features_are_read() {
        let offers = |features: Value| {
            let answer = json!({"jobs": [], "features": features}).to_string();
            read_pull_answer(answer.as_bytes()).unwrap().0.offers_callbacks()
        };
        assert!(offers(json!(["logs", "callbacks"])));
        for other in [json!(["logs"]), json!("callbacks"), json!({"callbacks": true}), Value::Null] {
            assert!(!offers(other.clone()), "{other}");
        }
        let answer = serde_json::to_vec(&answer_pull(&PullReply::default(), &BTreeMap::new(), Timestamp(5)));
        assert!(read_pull_answer(&answer.unwrap()).unwrap().0.offers_callbacks());
    }

    fn texts(texts: &[&str]) -> Vec<Text> {
        texts.iter().map(|text| (*text).into()).collect()
    }

    /// N1, N19: names that would not fit into the spool are left out with what bears them.
    #[test]
    fn endless_names_are_left_out() {
        let (long, fits) = ("x".repeat(1025), "x".repeat(1024));
        let job = |key: &str, name: &str| {
            let mut job = json!({"task_id": "t", "run_id": "r", "device_id": "d", "lease": {"token": "x"}});
            match key {
                "token" => job["lease"]["token"] = name.into(),
                key => job[key] = name.into(),
            }
            job
        };
        let keys = ["task_id", "run_id", "device_id", "runtime_handle", "workflow_id", "token"];
        let jobs: Vec<Value> = keys.iter().flat_map(|key| [job(key, &long), job(key, &fits)]).collect();
        let answer = json!({"jobs": jobs, "runs": [{"run_id": long}], "finished_runs": [long, "r"]});
        let (answer, left_out) = read_pull_answer(answer.to_string().as_bytes()).unwrap();
        assert_eq!((answer.jobs.len(), left_out), (6, 6));
        assert_eq!((answer.runs.len(), answer.finished_runs.len()), (0, 1));
    }
}
