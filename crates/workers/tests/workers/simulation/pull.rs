//! A worker that asks for its tasks and renders by itself.

use super::scene::{Cast, Scene, synthetic};
use muster_workers::simulation::{
    core::{Over, Refusal},
    render::{Renderer, Synthetic},
};
use serde_json::json;
use std::{collections::BTreeSet, fs};

/// S1, S2, S3, S4, S5, S27: registers with the secret, lives with the token, renders real files with ids of its chunk,
/// each once, and hands in a fragment.
#[tokio::test]
async fn a_range_becomes_files_and_a_fragment() {
    let scene = Scene::synthetic().await;
    let register = scene.master.nth("POST workers/register", 0).await;
    assert_eq!(
        (register.credential.as_str(), &register.json()["workerId"]),
        ("Bearer enrol-me", &json!("W1"))
    );
    assert_eq!(register.json()["capabilities"], json!({"cameras": 1, "gpu": "none", "slots": 1}));
    scene.master.hand_out(scene.task(5, (100, 140)));
    let progress = scene.master.nth("POST workers/W1/progress", 0).await.json();
    assert_eq!((&progress["taskId"], &progress["sessionId"]), (&json!("t5"), &json!("demo")));
    let complete = scene.master.nth("POST tasks/t5/complete", 0).await;
    assert_eq!(complete.credential, "token-1");
    let beat = scene.master.nth("POST workers/W1/heartbeat", 3).await.json();
    assert!(beat["rttMs"].is_number() && beat["queueRatio"].is_number() && beat["status"].is_string());
    let body = complete.json();
    assert_eq!((&body["workerId"], &body["attempt"]), (&json!("W1"), &json!(1)));
    assert_eq!(body["poseFiles"].as_array().unwrap().len(), 40);
    let fragment = &body["manifestFragment"];
    assert_eq!((&fragment["frameRange"], &fragment["globalIdChunkId"]), (&json!([100, 140]), &json!(5)));
    assert_eq!(fragment["statistics"], json!({"frames": 40, "persons": 80, "droppedFrames": 0}));
    let frame = json!({"frameId": 101, "timestamp": 4040, "statistics": {"frames": 1, "persons": 2}});
    assert_eq!(fragment["frames"][1], frame);
    for frame in 100..140 {
        let png = fs::read(scene.chunk(5).join(format!("frames/{frame:08}.png"))).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xaeB`\x82"));
    }
    let persons: BTreeSet<u64> = scene.persons(5).into_iter().collect();
    assert_eq!(persons, (5_000_000..5_000_080).collect());
}

/// S1: when the ids of a chunk run out more are asked for, for this task; no id is used twice.
#[tokio::test]
async fn further_ids_are_asked_for() {
    let scene = Scene::answered(&[("id-ranges", 0), ("id-ranges", 503)]).await;
    let mut task = scene.task(5, (0, 100));
    task["globalIdChunk"]["range"] = json!([50, 57]);
    scene.master.hand_out(task);
    let body = scene.master.nth("POST tasks/t5/complete", 0).await.json();
    let asked = scene.master.nth("POST id-ranges", 0).await.json();
    assert_eq!(asked, json!({"workerId": "W1", "taskId": "t5", "requestedCount": 193}));
    let persons = scene.persons(5);
    assert_eq!(persons.len(), 200);
    assert_eq!(persons.iter().collect::<BTreeSet<_>>().len(), 200, "an id was used twice");
    assert_eq!(body["manifestFragment"]["globalIdChunkId"], 5);
    assert!(!body["manifestFragment"]["furtherIdChunks"].as_array().unwrap().is_empty());
}

/// S5: a lost answer costs a repetition with the same bytes, nothing else.
#[tokio::test]
async fn a_lost_answer_is_repeated_byte_for_byte() {
    let scene = Scene::answered(&[("complete", 0), ("complete", 502)]).await;
    scene.master.hand_out(scene.task(5, (0, 10)));
    let third = scene.master.nth("POST tasks/t5/complete", 2).await;
    for n in 0..2 {
        assert_eq!(scene.master.nth("POST tasks/t5/complete", n).await.body, third.body);
    }
    scene.master.hand_out(scene.task(6, (10, 20)));
    scene.master.nth("POST tasks/t6/complete", 0).await;
    assert_eq!(scene.master.count("POST tasks/t5/complete"), 3);
}

/// S5: a result that is refused for good is given up; one that is found fault with is given back.
#[tokio::test]
async fn a_refused_result_does_not_stop_the_worker() {
    let scene = Scene::answered(&[("complete", 409), ("complete", 422)]).await;
    scene.master.hand_out(scene.task(5, (0, 10)));
    scene.master.nth("POST tasks/t5/complete", 0).await;
    scene.master.hand_out(scene.task(6, (0, 10)));
    let fail = scene.master.nth("POST tasks/t6/fail", 0).await.json();
    assert!(fail["error"].as_str().unwrap().starts_with("the completion was refused: 422"), "{fail}");
    scene.master.hand_out(scene.task(7, (0, 10)));
    scene.master.nth("POST tasks/t7/complete", 0).await;
    assert_eq!(
        (scene.master.count("POST tasks/t5/complete"), scene.master.count("POST tasks/t5/fail")),
        (1, 0)
    );
}

/// S8: a worker that finds nobody stops rendering and registers anew when the master is back; S1: with a new token.
#[tokio::test]
async fn an_outage_ends_the_task_and_not_the_worker() {
    let slow = Renderer::Synthetic(Synthetic { frames_per_second: 5, persons_per_frame: 2 });
    let scene = Scene::start(|_| Cast::of(slow)).await;
    scene.master.hand_out(scene.task(5, (0, 1_000)));
    scene.master.nth("POST workers/W1/progress", 0).await;
    scene.master.desk().is_down = true;
    scene.master.nth("POST workers/register", 1).await;
    scene.master.desk().is_down = false;
    scene.master.hand_out(scene.task(6, (0, 2)));
    let complete = scene.master.nth("POST tasks/t6/complete", 0).await;
    assert_eq!(complete.credential, scene.master.desk().token());
    assert_ne!(complete.credential, "token-1");
    assert_eq!(scene.master.count("POST tasks/t5/complete"), 0);
}

/// S10: at factor 0 nothing is rendered while heartbeats and progress go on; afterwards the range is finished.
#[tokio::test]
async fn backpressure_holds_frames_and_not_heartbeats() {
    let scene = Scene::synthetic().await;
    scene.master.desk().factor = 0.0;
    let beats = scene.master.count("POST workers/W1/heartbeat");
    scene.master.nth("POST workers/W1/heartbeat", beats + 2).await;
    scene.master.hand_out(scene.task(5, (0, 10)));
    let paused = |script: &super::master::Script| {
        let bodies = script.calls.iter().filter(|call| call.what == "POST workers/W1/heartbeat");
        (bodies.filter(|call| call.json()["status"] == "paused").count() > 5).then_some(())
    };
    scene.master.until(paused).await;
    scene.master.nth("POST workers/W1/progress", 1).await;
    assert_eq!(scene.master.nth("POST workers/W1/progress", 1).await.json()["processedFrames"], 0);
    assert_eq!(fs::read_dir(scene.chunk(5).join("frames")).unwrap().count(), 0);
    scene.master.desk().factor = 1.0;
    scene.master.nth("POST tasks/t5/complete", 0).await;
}

/// S27: a task that would write elsewhere is given back with the reason, and nothing is made there.
#[tokio::test]
async fn nothing_is_written_outside_of_the_root() {
    let cast = |directory: &std::path::Path| {
        let root = directory.join("chunks");
        fs::create_dir(&root).unwrap();
        fs::create_dir(directory.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(directory.join("elsewhere"), root.join("link")).unwrap();
        Cast { output_root: Some(root), ..Cast::of(synthetic()) }
    };
    let scene = Scene::start(cast).await;
    for (chunk, place) in [(5, "elsewhere/5"), (6, "chunks/../elsewhere/6"), (7, "chunks/link/7")] {
        let mut task = scene.task(chunk, (0, 10));
        task["outputDirectory"] = json!(scene.directory.path().join(place));
        scene.master.hand_out(task);
        let fail = scene.master.nth(&format!("POST tasks/t{chunk}/fail"), 0).await.json();
        assert!(fail["error"].as_str().unwrap().contains("elsewhere"), "{fail}");
    }
    assert_eq!(fs::read_dir(scene.directory.path().join("elsewhere")).unwrap().count(), 0);
    scene.master.hand_out(scene.task(8, (0, 10)));
    scene.master.nth("POST tasks/t8/complete", 0).await;
}

/// S15: once a master has moved the files of a task away, the worker does not write in their place; the task fails.
#[tokio::test]
async fn files_that_were_moved_away_do_not_grow_again() {
    let scene = Scene::synthetic().await;
    scene.master.desk().factor = 0.0;
    scene.master.hand_out(scene.task(5, (0, 10)));
    scene.master.nth("POST workers/W1/progress", 1).await;
    fs::rename(scene.chunk(5), scene.directory.path().join("quarantine")).unwrap();
    scene.master.desk().factor = 1.0;
    scene.master.nth("POST tasks/t5/fail", 0).await;
    assert!(!scene.chunk(5).exists());
}

/// S6: asked to leave, it takes its leave of the master.
#[tokio::test]
async fn a_worker_takes_its_leave() {
    let mut scene = Scene::synthetic().await;
    scene.master.nth("GET workers/W1/tasks", 0).await;
    assert_eq!(scene.leave().await, Over::Left);
    assert_eq!(scene.master.count("DELETE workers/W1"), 1);
}

/// S1: with a wrong secret a worker says so and ends.
#[tokio::test]
async fn a_wrong_secret_ends_the_worker() {
    let mut scene = Scene::answered(&[("register", 401)]).await;
    let refused = Over::Refused(Refusal { status: 401, detail: "the enrolment secret is wrong".into() });
    assert_eq!((&mut scene.worker).await.unwrap(), refused);
    assert_eq!(scene.master.desk().calls.len(), 1);
}
