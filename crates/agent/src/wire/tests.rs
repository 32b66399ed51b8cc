use super::*;
use crate::{
    Artifact, StepStatus,
    core::{Attempt, Event, EventKind, Heartbeat, Outcome, PullRequest, Summary},
};
use muster_model::{FailureReason, Millis, Timestamp};
use serde_json::{Value, json};

fn attempt() -> Attempt {
    Attempt {
        run: "uuid".into(),
        task: "string".into(),
        device: "onlySerial".into(),
        handle: "serial".into(),
        number: 2,
        token: Some("c3eb".into()),
    }
}

fn written(kind: EventKind) -> Value {
    let event = Event { id: "s/7".into(), at: Timestamp(1_760_000_123_456), kind };
    let bytes = write_event("PC-01", &event);
    let read = read_event(&bytes).unwrap();
    if !matches!(event.kind, EventKind::TaskProgress { .. }) {
        assert_eq!(read, event, "what was spooled is read back as it was");
    }
    serde_json::from_slice(&bytes).unwrap()
}

/// N9, N14: the run's events in the contract's words.
#[test]
fn runs_are_told_in_the_contracts_words() {
    let started = written(EventKind::RunStarted { run: "uuid".into(), targets: 100, max_concurrency: 20 });
    assert_eq!(
        started,
        json!({"event_id": "s/7", "type": "run_started", "payload": {"node_id": "PC-01", "run_id": "uuid",
            "timestamp": 1_760_000_123_456_i64, "target_devices_count": 100, "max_concurrency": 20}})
    );
    let summary = Summary { succeeded: 95, failed: 5, timeout: 2 };
    let finished = written(EventKind::RunFinished { run: "uuid".into(), summary });
    assert_eq!(
        finished,
        json!({"event_id": "s/7", "type": "run_finished", "payload": {"node_id": "PC-01", "run_id": "uuid",
            "timestamp": 1_760_000_123_456_i64, "summary": {"succeeded": 95, "failed": 5, "timeout": 2}}})
    );
}

/// N10, N11, N6b: the task's events carry the fence of their attempt.
#[test]
fn tasks_are_told_with_their_fence() {
    let workflow = "login_settings_screenshot_v1".into();
    let started = written(EventKind::TaskStarted { attempt: attempt(), workflow, timeout: Millis(180_000) });
    assert_eq!(
        started["payload"],
        json!({"node_id": "PC-01", "run_id": "uuid", "task_id": "string", "device_id": "onlySerial",
            "runtime_handle": "serial", "workflow_id": "login_settings_screenshot_v1", "timeoutMs": 180_000,
            "timestamp": 1_760_000_123_456_i64, "attempt": 2, "lease_token": "c3eb"})
    );
    let (step, status) = ("LOGIN_FLOW".into(), StepStatus::Done);
    let progress = written(EventKind::TaskProgress { attempt: attempt(), step, status });
    assert_eq!(
        progress["payload"],
        json!({"node_id": "PC-01", "run_id": "uuid", "task_id": "string", "device_id": "onlySerial",
            "step": "LOGIN_FLOW", "status": "done", "timestamp": 1_760_000_123_456_i64, "attempt": 2,
            "lease_token": "c3eb"})
    );
}

/// N12, N13: a failure names its reason, a success its artifact, never both.
#[test]
fn ends_are_told_in_the_contracts_words() {
    let started_at = Timestamp(1_760_000_000_000);
    let finished = |outcome| written(EventKind::TaskFinished { attempt: attempt(), started_at, outcome });
    let artifact = Artifact {
        kind: "screenshot".into(),
        storage_path: "videos/_/PC-01/onlySerial/uuid/1.png".into(),
        public_url: "https://x".into(),
    };
    let good = finished(Outcome::Succeeded { artifact: Some(artifact) });
    assert_eq!(
        good["payload"],
        json!({"node_id": "PC-01", "run_id": "uuid", "task_id": "string", "device_id": "onlySerial",
            "runtime_handle": "serial", "status": "succeeded", "attempt": 2, "lease_token": "c3eb",
            "timings": {"startedAt": 1_760_000_000_000_i64, "endedAt": 1_760_000_123_456_i64},
            "artifact": {"kind": "screenshot", "storage_path": "videos/_/PC-01/onlySerial/uuid/1.png",
                "public_url": "https://x"},
            "timestamp": 1_760_000_123_456_i64})
    );
    for reason in FailureReason::ALL {
        let bad = finished(Outcome::Failed { reason, error: "why".into() });
        assert_eq!(bad["payload"]["failure_reason"], reason.as_str());
        assert_eq!(bad["payload"]["error_message"], "why");
        assert_eq!(bad["payload"].get("artifact"), None);
    }
}

/// N8: the heartbeat's fields, and whether the node is degraded (N20).
#[test]
fn a_heartbeat_says_how_the_node_is() {
    let beat = Heartbeat {
        at: Timestamp(1_760_000_000_000),
        connected: 100,
        running: 20,
        queued: 80,
        degraded: true,
    };
    let body: Value = serde_json::from_slice(&write_heartbeat("PC-01", &beat, true)).unwrap();
    assert_eq!(
        body["payload"],
        json!({"node_id": "PC-01", "timestamp": 1_760_000_000_000_i64, "connected_devices_count": 100,
            "running_devices_count": 20, "queue_devices_count": 80, "vendor_ws_ok": true, "degraded": true})
    );
}

/// N1: whatever a backend leaves out has a sensible meaning; a job that makes none is left out, not the answer.
#[test]
fn answers_of_any_backend_are_read() {
    let (answer, left_out) = read_pull(
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
    assert_eq!((&*answer.jobs[1].handle, &*answer.jobs[1].params, answer.jobs[1].attempt), ("d2", "{}", 1));
    assert_eq!((answer.runs[0].targets, &*answer.stop[0]), (4, "s"));
    assert!(answer.warnings.is_empty());
    assert!(read_pull(b"[]").is_err() && read_pull(b"").is_err());
    let request = PullRequest { number: 1, max_jobs: 0, wait: None, devices: None };
    let body: Value = serde_json::from_slice(&write_pull("PC-01", &request)).unwrap();
    assert_eq!(body, json!({"node_id": "PC-01", "max_jobs": 0}));
}

/// N1b: warnings are read as lines of a log; a backend that means something else by the word is answered all the same.
#[test]
fn warnings_are_lines() {
    let warnings = |told: Value| {
        let (answer, _) = read_pull(json!({"jobs": [], "warnings": told}).to_string().as_bytes()).unwrap();
        answer.warnings
    };
    assert_eq!(warnings(json!(["a\u{1b}b", 7, "c"])), texts(&["a b", "c"]));
    assert_eq!((warnings(json!("x")), warnings(json!({"x": 1}))), (texts(&[]), texts(&[])));
    assert_eq!(warnings(json!(vec!["x"; 99])).len(), 10);
}

fn texts(texts: &[&str]) -> Vec<crate::Text> {
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
    let (answer, left_out) = read_pull(answer.to_string().as_bytes()).unwrap();
    assert_eq!((answer.jobs.len(), left_out), (6, 6));
    assert_eq!((answer.runs.len(), answer.finished_runs.len()), (0, 1));
}
