//! Coordinators that are away, and those that refuse.

use crate::{
    coordinator::Coordinator,
    scene::{Scene, statuses},
};
use axum::http::Method;
use muster_court::Place;
use serde_json::json;
use std::sync::Arc;

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
        let remains = coordinator.die().await;
        memory.ends_when_told("job_ended", json!({"job": "7"}), json!({"told": "7", "status": "success"}));
        Coordinator::revive(remains).await
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
