//! The examples of the source document, each alternative in turn.

use super::*;

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
