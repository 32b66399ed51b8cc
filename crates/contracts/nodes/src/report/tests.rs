use super::*;
use serde_json::{Value, json};

/// The examples of the source document, byte for byte.
const HEARTBEAT: &str = r#"{
  "type": "node_heartbeat",
  "node_id": "PC-01", "timestamp": 1760000000000,
  "connected_devices_count": 100, "running_devices_count": 20,
  "queue_devices_count": 80, "vendor_ws_ok": true
}"#;
const RUN_STARTED: &str = r#"{
  "type": "run_started",
  "node_id": "PC-01", "run_id": "uuid", "timestamp": 1760000000000,
  "target_devices_count": 100, "max_concurrency": 20
}"#;
const TASK_STARTED: &str = r#"{
  "type": "task_started",
  "node_id": "PC-01", "run_id": "uuid", "task_id": "string",
  "device_id": "onlySerial", "runtime_handle": "serial",
  "workflow_id": "login_settings_screenshot_v1",
  "timeoutMs": 180000, "timestamp": 1760000000000
}"#;
const TASK_PROGRESS: &str = r#"{
  "type": "task_progress",
  "node_id": "PC-01", "run_id": "uuid", "task_id": "string",
  "device_id": "onlySerial",
  "step": "PREFLIGHT|BOOTSTRAP|LOGIN_FLOW|SCREENSHOT|UPLOAD",
  "status": "running|done", "timestamp": 1760000000000
}"#;
const TASK_FINISHED: &str = r#"{
  "type": "task_finished",
  "node_id": "PC-01", "run_id": "uuid", "task_id": "string",
  "device_id": "onlySerial", "runtime_handle": "serial",
  "status": "succeeded|failed",
  "failure_reason": "needs_usb_authorization|adb_offline|adb_missing|vendor_ws_error|vendor_command_error|bootstrap_critical_failed|login_flow_timeout|screenshot_error|upload_error|callback_error|emulator_not_online|emulator_not_booted|unknown",
  "timings": { "startedAt": 1760000000000, "endedAt": 1760000123456 },
  "artifact": {
    "kind": "screenshot",
    "storage_path": "videos/{youtubeVideoId}/{node_id}/{device_id}/{run_id}/{timestamp}.png",
    "public_url": "https://..."
  },
  "error_message": "optional", "timestamp": 1760000123456
}"#;
const RUN_FINISHED: &str = r#"{
  "type": "run_finished",
  "node_id": "PC-01", "run_id": "uuid", "timestamp": 1760000999999,
  "summary": { "succeeded": 95, "failed": 5, "timeout": 2 }
}"#;

const RUN: &str = "01990000-0000-7000-8000-000000000001";

fn parse(example: &str) -> Value {
    let mut body: Value = serde_json::from_str(example).unwrap();
    body["event_id"] = json!("e-1");
    body
}

/// The same event with its fields inside `payload`.
fn nest(flat: &Value) -> Value {
    let mut payload = flat.as_object().unwrap().clone();
    let mut outer = serde_json::Map::new();
    for key in ["event_id", "type"] {
        outer.extend(payload.remove_entry(key));
    }
    outer.insert("payload".to_owned(), Value::Object(payload));
    Value::Object(outer)
}

fn said(body: &Value) -> Result<NodeMessage, Problem> {
    let message = Message::read(body)?;
    read_report(&Message::read(&nest(body))?)?;
    read_report(&message)
}

fn report(body: &Value) -> Report {
    match said(body).unwrap() {
        NodeMessage::Report(report) => *report,
        NodeMessage::Heartbeat { .. } => panic!("a heartbeat"),
    }
}

fn task_report(body: &Value) -> TaskReport {
    match report(body).kind {
        ReportKind::Task(task) => task,
        other => panic!("{other:?}"),
    }
}

fn finished(body: &Value) -> (Outcome, Timestamp, Value) {
    match task_report(body).kind {
        TaskReportKind::Finished { outcome, started_at, result } => {
            (outcome, started_at, serde_json::from_str(&result.unwrap()).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

/// A body with one field changed; `Null` removes it.
fn with(body: &Value, path: &[&str], value: Value) -> Value {
    let mut body = body.clone();
    let (last, parents) = path.split_last().unwrap();
    let parent = parents.iter().fold(&mut body, |object, key| &mut object[*key]);
    let object = parent.as_object_mut().unwrap();
    if value.is_null() {
        object.remove(*last)
    } else {
        object.insert((*last).to_owned(), value)
    };
    body
}

fn succeeded() -> Value {
    with(&with(&parse(TASK_FINISHED), &["status"], json!("succeeded")), &["failure_reason"], Value::Null)
}

fn failed(reason: &str) -> Value {
    with(&with(&parse(TASK_FINISHED), &["status"], json!("failed")), &["failure_reason"], json!(reason))
}

fn blamed(body: &Value) -> String {
    let problem = said(body).unwrap_err();
    assert_eq!(problem.status(), 422, "{body}");
    problem.field().unwrap().to_owned()
}

/// N11: a step is 1 to 64 of `[A-Z0-9_]`; a status is running or done.
#[test]
fn a_step_has_a_plain_name() {
    let body = with(&with(&parse(TASK_PROGRESS), &["status"], json!("done")), &["step"], json!("LOGIN_FLOW"));
    for bad in [
        json!(""),
        json!("login"),
        json!("A B"),
        json!("A-B"),
        json!("É"),
        json!("Z".repeat(65)),
        json!(1),
        json!(null),
    ] {
        assert_eq!(blamed(&with(&body, &["step"], bad)), "step");
    }
    assert_eq!(blamed(&with(&body, &["status"], json!("finished"))), "status");
}

/// N13: a reason is there exactly when the task failed, and is one of the thirteen.
#[test]
fn a_reason_belongs_to_a_failure() {
    assert_eq!(blamed(&with(&failed("unknown"), &["failure_reason"], Value::Null)), "failure_reason");
    assert_eq!(blamed(&with(&succeeded(), &["failure_reason"], json!("unknown"))), "failure_reason");
    for bad in [json!("ADB_OFFLINE"), json!("timeout"), json!(""), json!(3), json!(["unknown"])] {
        assert_eq!(blamed(&with(&failed("unknown"), &["failure_reason"], bad)), "failure_reason");
    }
    let mut null = succeeded();
    null["failure_reason"] = Value::Null;
    assert_eq!(finished(&null).0, Outcome::Succeeded);
}

/// N6: unknown extra fields are kept.
#[test]
fn unknown_fields_are_kept() {
    let body = with(&with(&succeeded(), &["x_trace"], json!({"a": [1]})), &["timings", "queuedAt"], json!(4));
    let report = report(&body);
    assert!(report.body.contains(r#""x_trace":{"a":[1]}"#));
    assert_eq!(finished(&body).2["timings"]["queuedAt"], 4);
}

/// N4: optional fields may be null.
#[test]
fn optional_fields_may_be_null() {
    let mut body = succeeded();
    for key in ["artifact", "error_message", "failure_reason", "attempt", "lease_token"] {
        body[key] = Value::Null;
    }
    assert_eq!(finished(&body).2, json!({"timings": body["timings"]}));
    assert_eq!(task_report(&body).fence, None);
}

/// N6b: attempt and token are taken along; a token that is none of ours matches no lease.
#[test]
fn a_report_may_name_its_attempt() {
    let body = with(&succeeded(), &["attempt"], json!(2));
    let told = |token: &str| task_report(&with(&body, &["lease_token"], json!(token)));
    let task = told("000000000000000000000000000000ab");
    assert_eq!((task.attempt, task.fence), (Some(2), Some(Fence(0xab))));
    for foreign in ["", "xyz", "000000000000000000000000000000a", "+00000000000000000000000000000ab"] {
        assert_eq!(told(foreign).fence, Some(Fence(0)));
    }
    assert_eq!(blamed(&with(&body, &["lease_token"], json!(7))), "lease_token");
    for bad in [json!(0), json!(-1), json!(65_536), json!("1"), json!(1.5)] {
        assert_eq!(blamed(&with(&body, &["attempt"], bad)), "attempt");
    }
}

/// N6: every required field of every event, when missing or of another JSON type, is refused by name.
#[test]
fn every_required_field_is_required() {
    let progress = with(&with(&parse(TASK_PROGRESS), &["status"], json!("done")), &["step"], json!("UPLOAD"));
    let events = [
        parse(HEARTBEAT),
        parse(RUN_STARTED),
        parse(TASK_STARTED),
        progress,
        succeeded(),
        parse(RUN_FINISHED),
    ];
    for event in events {
        for key in event.as_object().unwrap().keys() {
            if ["event_id", "artifact", "error_message"].contains(&key.as_str()) {
                continue;
            }
            for bad in [Value::Null, json!([1]), json!({}), json!(-1)] {
                assert!(blamed(&with(&event, &[key], bad)).starts_with(key.as_str()), "{key}");
            }
        }
    }
}

/// N6: parts within parts are checked alike, and numbers have bounds.
#[test]
fn inner_fields_are_checked() {
    let done = succeeded();
    for (parent, key) in [("timings", "startedAt"), ("timings", "endedAt")] {
        for bad in [Value::Null, json!("1"), json!(-1), json!(1u64 << 53), json!(1.5)] {
            assert_eq!(blamed(&with(&done, &[parent, key], bad)), format!("{parent}.{key}"));
        }
    }
    for key in ["kind", "storage_path", "public_url"] {
        assert_eq!(blamed(&with(&done, &["artifact", key], Value::Null)), format!("artifact.{key}"));
    }
    for key in ["succeeded", "failed", "timeout"] {
        for bad in [Value::Null, json!(-1), json!(1u64 << 53), json!("2")] {
            assert_eq!(blamed(&with(&parse(RUN_FINISHED), &["summary", key], bad)), format!("summary.{key}"));
        }
    }
    assert_eq!(blamed(&with(&done, &["artifact"], json!("x.png"))), "artifact");
    assert_eq!(blamed(&with(&parse(HEARTBEAT), &["vendor_ws_ok"], json!("yes"))), "vendor_ws_ok");
    assert_eq!(blamed(&with(&parse(HEARTBEAT), &["node_id"], json!("../x"))), "node_id");
}

/// N6: an error text has at most 8 KiB and no NUL.
#[test]
fn an_error_text_is_bounded() {
    let told = |text: String| with(&failed("unknown"), &["error_message"], json!(text));
    assert!(said(&told("x".repeat(8192))).is_ok());
    for bad in ["x".repeat(8193), "é".repeat(4097), "a\0b".to_owned()] {
        assert_eq!(blamed(&told(bad)), "error_message");
    }
}

/// N6: an unknown type is refused, also the right one in another case.
#[test]
fn an_unknown_type_is_refused() {
    for bad in [json!("node_exploded"), json!("Task_Finished"), json!(""), json!(1), Value::Null] {
        assert_eq!(blamed(&with(&parse(RUN_STARTED), &["type"], bad)), "type");
    }
}

/// N8: the document's heartbeat, with and without the agent's own `degraded`.
#[test]
fn golden_node_heartbeat() {
    let body = parse(HEARTBEAT);
    let NodeMessage::Heartbeat { worker, heartbeat } = said(&body).unwrap() else { panic!("a report") };
    assert_eq!(worker.as_str(), "PC-01");
    let expected = Heartbeat {
        at: Timestamp(1_760_000_000_000),
        connected: 100,
        running: 20,
        queued: 80,
        vendor_ws_ok: true,
        degraded: false,
    };
    assert_eq!(heartbeat, expected);
    let NodeMessage::Heartbeat { heartbeat, .. } = said(&with(&body, &["degraded"], json!(true))).unwrap()
    else {
        panic!("a report")
    };
    assert!(heartbeat.degraded);
}

/// N9: the document's `run_started`; a run id that is no id of ours names no run.
#[test]
fn golden_run_started() {
    let report = report(&parse(RUN_STARTED));
    assert_eq!((report.id.as_str(), report.worker.as_str()), ("e-1", "PC-01"));
    assert_eq!(report.at, Timestamp(1_760_000_000_000));
    assert!(matches!(report.kind, ReportKind::RunStarted { job: JobId::NIL }));
    let expected = r#"{"event_id":"e-1","max_concurrency":20,"node_id":"PC-01","run_id":"uuid","target_devices_count":100,"timestamp":1760000000000,"type":"run_started"}"#;
    assert_eq!(&*report.body, expected);
}

/// N10: the document's `task_started`, and the same with ids of ours.
#[test]
fn golden_task_started() {
    let body = parse(TASK_STARTED);
    let task = task_report(&body);
    assert_eq!((task.job, task.task, task.lane.as_str()), (JobId::NIL, TaskId::NIL, "onlySerial"));
    assert!(matches!(task.kind, TaskReportKind::Started));
    assert_eq!((task.attempt, task.fence), (None, None));
    let body = with(&with(&body, &["run_id"], json!(RUN)), &["task_id"], json!(format!("{RUN}.0000007")));
    let job: JobId = RUN.parse().unwrap();
    assert_eq!(task_report(&body).task, TaskId { job, ordinal: 7 });
    assert_eq!(task_report(&body).job, job);
}

/// N11: the document's `task_progress`, for each step and each status it lists.
#[test]
fn golden_task_progress() {
    let body = parse(TASK_PROGRESS);
    let steps = body["step"].as_str().unwrap().to_owned();
    assert_eq!(steps.split('|').count(), 5);
    for name in steps.split('|').chain(["CUSTOM_2", "A", &"Z".repeat(64)]) {
        for (word, status) in [("running", StepStatus::Running), ("done", StepStatus::Done)] {
            let body = with(&with(&body, &["step"], json!(name)), &["status"], json!(word));
            let TaskReportKind::Progress(step) = task_report(&body).kind else { panic!("no progress") };
            assert_eq!(
                step,
                Step { name: Name::new(name).unwrap(), status, at: Timestamp(1_760_000_000_000) }
            );
        }
    }
}

/// N12: the document's `task_finished` when it succeeded; Q8: its synonyms.
#[test]
fn golden_task_finished_succeeded() {
    for word in ["succeeded", "success", "completed"] {
        let (outcome, started_at, result) = finished(&with(&succeeded(), &["status"], json!(word)));
        assert_eq!((outcome, started_at), (Outcome::Succeeded, Timestamp(1_760_000_000_000)));
        let example = parse(TASK_FINISHED);
        assert_eq!(result, json!({"artifact": example["artifact"], "timings": example["timings"]}));
    }
}

/// N13: the document's `task_finished` when it failed, for each reason it lists.
#[test]
fn golden_task_finished_failed() {
    let example = parse(TASK_FINISHED);
    let reasons: Vec<&str> = example["failure_reason"].as_str().unwrap().split('|').collect();
    assert_eq!(reasons, FailureReason::ALL.map(FailureReason::as_str));
    for (word, reason) in reasons.into_iter().zip(FailureReason::ALL) {
        let (outcome, _, result) = finished(&failed(word));
        assert_eq!(outcome, Outcome::Failed { reason: Some(reason), error: Some("optional".into()) });
        let expected =
            json!({"artifact": example["artifact"], "timings": example["timings"], "failure_reason": word});
        assert_eq!(result, expected);
    }
}

/// N14: the document's `run_finished`.
#[test]
fn golden_run_finished() {
    let ReportKind::RunFinished { job, summary } = report(&parse(RUN_FINISHED)).kind else {
        panic!("another")
    };
    assert_eq!(job, JobId::NIL);
    assert_eq!(summary, RunSummary { succeeded: 95, failed: 5, timeout: 2 });
}
