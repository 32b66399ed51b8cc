use super::*;
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
    let summary = RunSummary { succeeded: 95, failed: 5, timeout: 2 };
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
        vendor_ws_ok: true,
        degraded: true,
    };
    let body: Value = serde_json::from_slice(&write_heartbeat("PC-01", &beat)).unwrap();
    assert_eq!(
        body["payload"],
        json!({"node_id": "PC-01", "timestamp": 1_760_000_000_000_i64, "connected_devices_count": 100,
            "running_devices_count": 20, "queue_devices_count": 80, "vendor_ws_ok": true, "degraded": true})
    );
}
