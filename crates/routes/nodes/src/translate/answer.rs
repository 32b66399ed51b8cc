//! Replies in the words of contract N.

use crate::{
    Heartbeat,
    wire::{CallbackAnswer, JobOffer, LeaseOffer, NodeList, NodeState, PullAnswer, RunOffer, StopOffer},
};
use muster_model::{
    Handout, JobAnnounced, JobId, JobPayload, Millis, Name, PullReply, Recorded, Timestamp, WorkerRecord,
};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, sync::Arc};

/// What a node must know of a run besides what the engine told.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    workflow: Arc<JobPayload>,
    params: Box<RawValue>,
    timeout: Millis,
}

impl Run {
    /// Takes a job's payload; its params are passed on letter by letter, never read.
    ///
    /// # Errors
    /// When the params are not JSON, which only a damaged store can bring about.
    pub(crate) fn new(payload: Arc<JobPayload>, attempt_timeout: Millis) -> Result<Self, serde_json::Error> {
        let params = RawValue::from_string(payload.params.to_string())?;
        let timeout = payload.timeout.unwrap_or(attempt_timeout);
        Ok(Self { workflow: payload, params, timeout })
    }
}

/// The answer to a pull (N1). A job whose run is not among `runs` is left out: it comes again (N2).
pub(crate) fn answer_pull<'a>(
    reply: &PullReply,
    runs: &'a BTreeMap<JobId, Run>,
    now: Timestamp,
) -> PullAnswer<'a> {
    let announced = reply.announced.iter().filter_map(|job| Some(run_offer(job, runs.get(&job.job)?)));
    let handouts = reply.handouts.iter().filter_map(|job| Some(job_offer(job, runs.get(&job.task.job)?)));
    PullAnswer {
        now: now.0,
        runs: announced.collect(),
        jobs: handouts.collect(),
        finished_runs: reply.finished.iter().map(ToString::to_string).collect(),
        stop: reply.stop.iter().map(ToString::to_string).collect(),
        stop_jobs: reply.stopping.iter().map(stop_offer).collect(),
        warnings: reply.contested.iter().map(contested).collect(),
    }
}

/// Two nodes take a device from each other (N1b).
fn contested((device, node): &(Name, Name)) -> String {
    format!(
        "node {node} reports device {device} as well, and the two take it from each other; let one of them report it \
         (simulated devices begin at another number with simulated:COUNT@FIRST)"
    )
}

fn run_offer<'a>(announced: &JobAnnounced, run: &'a Run) -> RunOffer<'a> {
    RunOffer {
        run_id: announced.job.to_string(),
        workflow_id: &run.workflow.workflow,
        params: &run.params,
        timeout_ms: run.timeout.0,
        target_devices_count: announced.targets,
        max_concurrency: announced.slots,
    }
}

fn job_offer<'a>(handout: &Handout, run: &'a Run) -> JobOffer<'a> {
    JobOffer {
        task_id: handout.task.to_string(),
        run_id: handout.task.job.to_string(),
        device_id: handout.lane.to_string(),
        runtime_handle: handout.handle.to_string(),
        workflow_id: &run.workflow.workflow,
        params: &run.params,
        timeout_ms: run.timeout.0,
        attempt: handout.attempt,
        lease: lease_offer(handout),
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
    LeaseOffer { token: handout.fence.to_string(), until: handout.until.0 }
}

/// The answer to a callback (N4, N6b).
pub(crate) fn answer_report(recorded: Recorded) -> CallbackAnswer {
    CallbackAnswer {
        ok: true,
        duplicate: recorded == Recorded::Duplicate,
        stale: recorded == Recorded::Stale,
    }
}

/// The response of `GET /api/nodes`: every known node, with its last heartbeat if this server heard one.
pub(crate) fn list_nodes(nodes: &[(WorkerRecord, Option<Heartbeat>)]) -> NodeList {
    let node = |(record, beat): &(WorkerRecord, Option<Heartbeat>)| NodeState {
        node_id: record.id.to_string(),
        status: record.status.as_str(),
        heartbeat: if record.heartbeat_late_since.is_some() { "late" } else { "ok" },
        heartbeat_late_since: record.heartbeat_late_since.map(|since| since.0),
        timestamp: beat.as_ref().map(|beat| beat.at.0),
        heard_at: beat.as_ref().map(|beat| beat.heard_at.0),
        connected_devices_count: beat.as_ref().map(|beat| beat.connected),
        running_devices_count: beat.as_ref().map(|beat| beat.running),
        queue_devices_count: beat.as_ref().map(|beat| beat.queued),
        vendor_ws_ok: beat.as_ref().map(|beat| beat.vendor_ws_ok),
        degraded: beat.as_ref().map(|beat| beat.degraded),
    };
    NodeList { nodes: nodes.iter().map(node).collect() }
}

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
        let runs = BTreeMap::from([(job, Run::new(payload(params, None), Millis(1_200_000)).unwrap())]);
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
        });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), expected);
    }

    #[test]
    fn a_run_may_have_a_timeout_of_its_own() {
        assert_eq!(Run::new(payload("{}", Some(Millis(7))), Millis(9)).unwrap().timeout, Millis(7));
        assert!(Run::new(payload("{", None), Millis(9)).is_err());
    }

    /// N4, N6b: the three answers to a callback.
    #[test]
    fn callbacks_are_answered_byte_for_byte() {
        let text = |recorded| serde_json::to_string(&answer_report(recorded)).unwrap();
        assert_eq!(text(Recorded::Applied), r#"{"ok":true}"#);
        assert_eq!(text(Recorded::Duplicate), r#"{"ok":true,"duplicate":true}"#);
        assert_eq!(text(Recorded::Stale), r#"{"ok":true,"stale":true}"#);
    }
}
