//! Tasks that the coordinator's fleets do.

use crate::{Scene, coordinator::Coordinator, statuses};
use axum::http::Method;
use muster_court::Place;
use serde_json::json;
use std::sync::Arc;

/// C17: a run is handed in to the byte, under the task's id and with the token; its end is heard of in the feed and comes
/// back as a result.
#[tokio::test]
async fn a_run_is_handed_in_and_its_end_comes_back() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"run\"");
    let payload = r#"{"workflow_id": "w",   "params": {"n": 1.50, "big": 123456789012345678901234567890}}"#;
    let id = scene.task_about(payload);
    let standing = json!({"told": "7", "status": "success", "error": null,
        "counts": {"pending": 0, "running": 0, "completed": 12, "failed": 1, "cancelled": 0}});
    coordinator.memory.ends_when_told("job_ended", json!({"job": "7", "status": "success"}), standing);
    let result = scene.result(&id).await;
    assert_eq!(result.text("status").as_deref(), Some("success"));
    assert_eq!(result.text("summary").as_deref(), Some("run 7: 12 completed, 1 failed, 0 cancelled"));
    assert_eq!(result.objects("attempts")[0].raw("remote"), Some(r#"{"kind": "run", "id": "7"}"#));
    let calls = coordinator.memory.calls(&Method::POST, "/api/runs");
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].body.as_str(), calls[0].key.as_deref()), (payload, Some(id.as_str())));
    assert_eq!(calls[0].token.as_deref(), Some("Bearer open-sesame"));
}

/// C17: a session without an id gets the task's, so that handing it in twice makes one; the rest is as it was.
#[tokio::test]
async fn a_session_is_named_after_its_task() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"session\"\nretry_after_s = 0");
    let id = scene.task_about(r#"{"totalFrames": 100, "framesPerTask": 1e1}"#);
    let failed = json!({"status": "failed", "error": "a gap", "totalFrames": 100, "completedFrames": 9});
    coordinator.memory.stands("task-20260226-001", failed);
    let done = json!({"status": "completed", "totalFrames": 100, "completedFrames": 100});
    coordinator.memory.stands("task-20260226-001-2", done);
    let result = scene.result(&id).await;
    assert_eq!(statuses(&result), ["failed", "success"]);
    let error = result.objects("attempts")[0].text("error").unwrap();
    assert_eq!(error, "session task-20260226-001: failed, 9 of 100 frames: a gap");
    let calls = coordinator.memory.calls(&Method::POST, "/api/v1/sessions");
    let keys: Vec<_> = calls.iter().filter_map(|call| call.key.as_deref()).collect();
    assert_eq!(keys, ["task-20260226-001", "task-20260226-001.2"]);
    let body = r#"{"totalFrames": 100, "framesPerTask": 1e1, "sessionId": "task-20260226-001"}"#;
    assert_eq!(calls[0].body, body);
}

/// C17: a session that its payload names is handed in as it is, and not again when it failed: it would only be found.
#[tokio::test]
async fn a_session_with_a_name_of_its_own_is_not_retried() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"session\"");
    let payload = r#"{"sessionId":"night","totalFrames":1}"#;
    let id = scene.task_about(payload);
    coordinator.memory.stands("night", json!({"status": "failed", "error": "dark"}));
    let result = scene.result(&id).await;
    assert_eq!(statuses(&result), ["failed"]);
    assert_eq!(coordinator.memory.calls(&Method::POST, "/api/v1/sessions")[0].body, payload);
}

/// C17: a job that failed is handed in again under a key of its own; the summary is its output's, where that is text.
#[tokio::test]
async fn a_jobs_summary_is_its_outputs() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"job\"\nretry_after_s = 0");
    let id = scene.task_about(r#"{"payload": {"x": 1}}"#);
    coordinator
        .memory
        .stands("7", json!({"status": "failed", "error_message": "out of memory", "output": null}));
    let done = json!({"told": "8", "status": "completed", "output": {"summary": "42 found"}});
    coordinator.memory.ends_when_told("pool_jobs_ended", json!({"completed": [5, 8]}), done);
    let result = scene.result(&id).await;
    assert_eq!(result.text("summary").as_deref(), Some("42 found"));
    assert_eq!(
        result.object("output").and_then(|output| output.text("summary")).as_deref(),
        Some("42 found")
    );
    let error = result.objects("attempts")[0].text("error").unwrap();
    assert_eq!(error, "job 7: failed: out of memory");
    let calls = coordinator.memory.calls(&Method::POST, "/jobs");
    let keys: Vec<_> = calls.iter().filter_map(|call| call.key.as_deref()).collect();
    assert_eq!(keys, ["task-20260226-001", "task-20260226-001.2"]);
}

/// C17: what takes too long is cancelled at the coordinator and counts as killed.
#[tokio::test]
async fn what_takes_too_long_is_cancelled() {
    for (executor, method, path) in [
        ("run", Method::POST, "/api/runs/7/cancel"),
        ("session", Method::POST, "/api/v1/sessions/task-20260226-001/cancel"),
        ("job", Method::DELETE, "/jobs/7"),
    ] {
        let coordinator = Coordinator::start().await;
        let manifest = format!("executor = \"{executor}\"\ntimeout_s = 1\nretries = 0");
        let scene = Scene::with_fleet(coordinator.url(), &manifest);
        let id = scene.task();
        let result = scene.result(&id).await;
        assert_eq!(result.text("status").as_deref(), Some("killed"), "{executor}");
        assert_eq!(coordinator.memory.calls(&method, path).len(), 1, "{executor}");
    }
}

/// C17: a coordinator that is down, overloaded, or does not know the token yet is waited for; the task is handed in once.
#[tokio::test]
async fn trouble_is_waited_out() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"run\"\nretries = 0");
    let id = scene.task();
    coordinator.memory.moods(&[(503, json!({})), (401, json!({})), (429, json!({}))]);
    coordinator.memory.stands("7", json!({"status": "success"}));
    let result = scene.result(&id).await;
    assert_eq!(statuses(&result), ["success"]);
    let calls = coordinator.memory.calls(&Method::POST, "/api/runs");
    assert_eq!(calls.len(), 4);
    assert!(calls.iter().all(|call| call.key.as_deref() == Some(id.as_str())));
}

/// C17: what was handed in without an answer until its time was over is handed in once more, to be cancelled.
#[tokio::test]
async fn what_got_no_answer_in_time_is_cancelled() {
    let coordinator = Coordinator::start().await;
    coordinator.memory.moods(&[(503, json!({}))]);
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"run\"\nretries = 0\ntimeout_s = 0.5");
    let id = scene.task();
    let result = scene.result(&id).await;
    assert_eq!(statuses(&result), ["killed"]);
    assert!(result.objects("attempts")[0].has("remote"));
    let calls = coordinator.memory.calls(&Method::POST, "/api/runs");
    assert!(calls.iter().all(|call| call.key.as_deref() == Some(id.as_str())), "{calls:?}");
    assert_eq!(coordinator.memory.calls(&Method::POST, "/api/runs/7/cancel").len(), 1);
}

/// C17: what the coordinator will never take is a failure in its own words, and not tried again.
#[tokio::test]
async fn a_refusal_is_final() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"run\"");
    let id = scene.task();
    coordinator.memory.moods(&[(422, json!({"detail": "workflow_id must be text"}))]);
    let result = scene.result(&id).await;
    assert_eq!(statuses(&result), ["failed"]);
    let error = result.text("error").unwrap();
    assert_eq!(error, "the coordinator refused it: workflow_id must be text (422 Unprocessable Entity)");
}

/// C17: what somebody cancelled over there is not begun again from here.
#[tokio::test]
async fn what_was_cancelled_is_not_retried() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"job\"");
    let id = scene.task();
    coordinator.memory.stands("7", json!({"status": "cancelled"}));
    let result = scene.result(&id).await;
    assert_eq!(statuses(&result), ["failed"]);
    assert!(result.text("error").unwrap().contains("cancelled at the coordinator"));
}

/// C6, C17: a general that stops leaves the work where it is; its next life follows the same attempt, handed in once.
#[tokio::test]
async fn the_work_outlives_the_general() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"run\"\nretries = 0");
    let id = scene.task();
    let is_recorded = || {
        let task = scene.folder.read(Place::TasksInProgress, &id);
        task.is_ok_and(|task| task.objects("attempts").iter().any(|attempt| attempt.has("remote")))
    };
    scene.run_until(is_recorded).await;
    assert_eq!(statuses(&scene.in_progress(&id)), ["running"]);
    coordinator.memory.stands("7", json!({"status": "success"}));
    assert_eq!(statuses(&scene.result(&id).await), ["success"]);
    assert_eq!(coordinator.memory.calls(&Method::POST, "/api/runs").len(), 1);
    assert_eq!(coordinator.memory.calls(&Method::POST, "/api/runs/7/cancel").len(), 0);
}

/// C6, C17: a general that died before it knew the answer hands its task in again, under the same key.
#[tokio::test]
async fn an_answer_that_was_lost_is_asked_for_again() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"job\"\nretries = 0");
    let id = scene.task();
    coordinator.memory.moods(&[(502, json!({}))]);
    let memory = Arc::clone(&coordinator.memory);
    scene.run_until(|| !memory.calls(&Method::POST, "/jobs").is_empty()).await;
    coordinator.memory.stands("7", json!({"status": "completed"}));
    assert_eq!(statuses(&scene.result(&id).await), ["success"]);
    let calls = coordinator.memory.calls(&Method::POST, "/jobs");
    assert!(calls.len() >= 2 && calls.iter().all(|call| call.key.as_deref() == Some(id.as_str())));
}

/// C17: a coordinator that dies and comes back finds its general still there.
#[tokio::test]
async fn the_work_outlives_the_coordinators_absence() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"run\"\nretries = 0");
    let id = scene.task();
    let memory = Arc::clone(&coordinator.memory);
    let absence = async {
        scene.wait_until(|| !memory.calls(&Method::GET, "/api/runs/7").is_empty()).await;
        let (memory, address) = coordinator.die().await;
        memory.ends_when_told("job_ended", json!({"job": "7"}), json!({"told": "7", "status": "success"}));
        Coordinator::revive(memory, address).await
    };
    let (result, _revived) = tokio::join!(scene.result(&id), absence);
    assert_eq!(statuses(&result), ["success"]);
    assert_eq!(memory.calls(&Method::POST, "/api/runs").len(), 1);
}

/// C17, S19: a coordinator that fails over is followed at its next server, in whose feed alone the end is told; the work
/// is handed in once.
#[tokio::test]
async fn the_work_is_followed_at_the_next_server() {
    let coordinator = Coordinator::start().await;
    let next = coordinator.beside().await;
    let servers = format!("{},{}", coordinator.url(), next.url());
    let scene = Scene::with_fleet(servers, "executor = \"run\"\nretries = 0");
    let id = scene.task();
    let memory = Arc::clone(&coordinator.memory);
    let failover = async {
        scene.wait_until(|| !memory.calls(&Method::GET, "/api/runs/7").is_empty()).await;
        coordinator.die().await;
        memory.ends_when_told("job_ended", json!({"job": "7"}), json!({"told": "7", "status": "success"}));
    };
    let (result, ()) = tokio::join!(scene.result(&id), failover);
    assert_eq!(statuses(&result), ["success"]);
    assert_eq!(memory.calls(&Method::POST, "/api/runs").len(), 1);
}

/// C17: a feed that breaks off is taken up after the last entry that was heard.
#[tokio::test]
async fn the_feed_goes_on_where_it_was() {
    let coordinator = Coordinator::start().await;
    let scene = Scene::with_fleet(coordinator.url(), "executor = \"run\"\nretries = 0");
    let id = scene.task();
    let going = json!({"told": "7", "status": "running", "cut": true});
    coordinator.memory.ends_when_told("job_active", json!({"job": "7"}), going);
    let done = json!({"told": "7", "status": "success"});
    coordinator.memory.ends_when_told("job_ended", json!({"job": "7"}), done);
    assert_eq!(statuses(&scene.result(&id).await), ["success"]);
    let calls = coordinator.memory.calls(&Method::GET, "/api/events");
    assert_eq!(calls.into_iter().map(|call| call.last).collect::<Vec<_>>(), [None, Some("1".to_owned())]);
}
