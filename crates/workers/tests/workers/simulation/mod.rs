//! The simulation worker as it runs, against a stand-in of the master.

mod exec;
mod failover;
mod scene;

use crate::worker_binary;
use hmac::{Hmac, KeyInit, Mac};
use muster_worker_kit::process::wait_for_earlier_guards;
use muster_workers::simulation::{
    core::{Over, Refusal},
    render::{Renderer, Synthetic},
};
use scene::{Cast, Scene, Script, StandIn, processes_of, synthetic};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{collections::BTreeSet, fs, path::Path, process::Stdio, time::Duration};
use tokio::process::{Child, Command};

// A worker that asks for its tasks and renders by itself.

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
    scene.master.hand_out(scene.task(5, 100..140));
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
    let mut task = scene.task(5, 0..100);
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
    scene.master.hand_out(scene.task(5, 0..10));
    let third = scene.master.nth("POST tasks/t5/complete", 2).await;
    for n in 0..2 {
        assert_eq!(scene.master.nth("POST tasks/t5/complete", n).await.body, third.body);
    }
    scene.master.hand_out(scene.task(6, 10..20));
    scene.master.nth("POST tasks/t6/complete", 0).await;
    assert_eq!(scene.master.count("POST tasks/t5/complete"), 3);
}

/// S8: a worker that finds nobody stops rendering and registers anew when the master is back; S1: with a new token.
#[tokio::test]
async fn an_outage_ends_the_task_and_not_the_worker() {
    let slow = Renderer::Synthetic(Synthetic { frames_per_second: 5, persons_per_frame: 2 });
    let scene = Scene::start(|_| Cast::of(slow)).await;
    scene.master.hand_out(scene.task(5, 0..1_000));
    scene.master.nth("POST workers/W1/progress", 0).await;
    scene.master.desk().is_down = true;
    scene.master.nth("POST workers/register", 1).await;
    scene.master.desk().is_down = false;
    scene.master.hand_out(scene.task(6, 0..2));
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
    scene.master.hand_out(scene.task(5, 0..10));
    let paused = |script: &Script| {
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
    let cast = |directory: &Path| {
        let root = directory.join("chunks");
        fs::create_dir(&root).unwrap();
        fs::create_dir(directory.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(directory.join("elsewhere"), root.join("link")).unwrap();
        Cast { output_root: Some(root), ..Cast::of(synthetic()) }
    };
    let scene = Scene::start(cast).await;
    for (chunk, place) in [(5, "elsewhere/5"), (6, "chunks/../elsewhere/6"), (7, "chunks/link/7")] {
        let mut task = scene.task(chunk, 0..10);
        task["outputDirectory"] = json!(scene.directory.path().join(place));
        scene.master.hand_out(task);
        let fail = scene.master.nth(&format!("POST tasks/t{chunk}/fail"), 0).await.json();
        assert!(fail["error"].as_str().unwrap().contains("elsewhere"), "{fail}");
    }
    assert_eq!(fs::read_dir(scene.directory.path().join("elsewhere")).unwrap().count(), 0);
    scene.master.hand_out(scene.task(8, 0..10));
    scene.master.nth("POST tasks/t8/complete", 0).await;
}

/// S15: once a master has moved the files of a task away, the worker does not write in their place; the task fails.
#[tokio::test]
async fn files_that_were_moved_away_do_not_grow_again() {
    let scene = Scene::synthetic().await;
    scene.master.desk().factor = 0.0;
    scene.master.hand_out(scene.task(5, 0..10));
    scene.master.nth("POST workers/W1/progress", 1).await;
    fs::rename(scene.chunk(5), scene.directory.path().join("quarantine")).unwrap();
    scene.master.desk().factor = 1.0;
    scene.master.nth("POST tasks/t5/fail", 0).await;
    assert!(!scene.chunk(5).exists());
}

/// S1: with a wrong secret a worker says so and ends.
#[tokio::test]
async fn a_wrong_secret_ends_the_worker() {
    let mut scene = Scene::answered(&[("register", 401)]).await;
    let refused = Over::Refused(Refusal { status: 401, detail: "the enrolment secret is wrong".into() });
    assert_eq!((&mut scene.worker).await.unwrap(), refused);
    assert_eq!(scene.master.desk().calls.len(), 1);
}

// S3: a worker to which tasks are brought.

async fn pushed_to(renderer: Renderer) -> Scene {
    let scene = Scene::start(|_| Cast { is_pushed_to: true, ..Cast::of(renderer) }).await;
    // Registered, and the token is in place.
    scene.master.nth("POST workers/W1/heartbeat", 0).await;
    scene
}

fn signature(scene: &Scene, body: &[u8]) -> String {
    let key = Sha256::digest(scene.master.desk().token());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(body);
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sends the worker a request, `POST workers/W1/tasks` or `DELETE workers/W1`.
async fn request(scene: &Scene, what: &str, body: &str, signature: &str) -> (u16, Value) {
    let (method, path) = what.split_once(' ').unwrap();
    let url = format!("{}/{path}", scene.endpoint.as_deref().unwrap());
    let client = muster_worker_kit::http::client_for(&url).no_proxy().build().unwrap();
    let request = client.request(method.parse().unwrap(), url);
    let request = request.header("x-muster-signature", signature).body(body.to_owned());
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap())
}

async fn push(scene: &Scene, task: &Value) -> (u16, Value) {
    let body = task.to_string();
    let signature = signature(scene, body.as_bytes());
    request(scene, "POST workers/W1/tasks", &body, &signature).await
}

/// S3: the worker tells where it can be reached, takes what the master signed, and never asks.
#[tokio::test]
async fn a_pushed_task_is_done() {
    let scene = pushed_to(synthetic()).await;
    let register = scene.master.nth("POST workers/register", 0).await.json();
    assert_eq!(register["endpoint"].as_str(), scene.endpoint.as_deref());
    assert_eq!(push(&scene, &scene.task(5, 0..10)).await, (200, json!({"ack": true})));
    scene.master.nth("POST tasks/t5/complete", 0).await;
    assert_eq!(scene.master.count("GET workers/W1/tasks"), 0);
}

/// S3: the same task again is acked again and done once; a second one finds no slot; S18: an older epoch is refused.
#[tokio::test]
async fn what_is_taken_once_is_taken_once() {
    let scene =
        pushed_to(Renderer::Synthetic(Synthetic { frames_per_second: 1, persons_per_frame: 1 })).await;
    let task = scene.task(5, 0..1_000);
    for _ in 0..3 {
        assert_eq!(push(&scene, &task).await, (200, json!({"ack": true})));
    }
    let (status, answer) = push(&scene, &scene.task(6, 0..10)).await;
    assert_eq!((status, &answer["ack"]), (409, &json!(false)), "{answer}");
    let mut old = scene.task(7, 0..10);
    old["epoch"] = json!(0);
    let (status, answer) = push(&scene, &old).await;
    assert_eq!((status, answer["detail"].as_str()), (409, Some("the task is of an older epoch than 1")));
    // Done with it, it is still not done again.
    scene.master.desk().commands = vec![json!({"stop": "t5"})];
    let is_idle = |script: &Script| {
        let last = script.calls.iter().rfind(|call| call.what == "POST workers/W1/heartbeat")?;
        (script.commands.is_empty() && last.json()["status"] == "idle").then_some(())
    };
    scene.master.until(is_idle).await;
    assert_eq!(push(&scene, &task).await.0, 200);
    assert_eq!(push(&scene, &scene.task(6, 0..1)).await, (200, json!({"ack": true})));
    scene.master.nth("POST tasks/t6/complete", 0).await;
    assert_eq!(scene.master.count("POST tasks/t5/complete"), 0);
}

/// S3: whoever does not know the token brings nothing, and learns nothing.
#[tokio::test]
async fn only_the_master_brings_tasks() {
    let scene = pushed_to(synthetic()).await;
    let body = scene.task(5, 0..10).to_string();
    let right = signature(&scene, body.as_bytes());
    let wrong = signature(&scene, b"another body");
    for signature in ["", "x", wrong.as_str(), &right.to_uppercase(), &right[..62]] {
        assert_eq!(request(&scene, "POST workers/W1/tasks", &body, signature).await.0, 401, "{signature}");
    }
    assert_eq!(request(&scene, "POST workers/W2/tasks", &body, &right).await.0, 404);
    let mut nonsense = scene.task(5, 0..10);
    nonsense["frameRange"] = json!([7]);
    let (status, answer) = push(&scene, &nonsense).await;
    assert_eq!(
        (status, answer["detail"].as_str().unwrap().starts_with("frameRange")),
        (422, true),
        "{answer}"
    );
    assert!(!scene.chunk(5).exists());
    assert_eq!(request(&scene, "POST workers/W1/tasks", &body, &right).await.0, 200);
}

/// S6: a worker that the master removes acknowledges it, stops its task and ends. Nothing is reported of the task, and
/// no further call is made.
#[tokio::test]
async fn a_removed_worker_acknowledges_and_ends() {
    for has_task in [true, false] {
        let mut scene =
            pushed_to(Renderer::Synthetic(Synthetic { frames_per_second: 1, persons_per_frame: 1 })).await;
        if has_task {
            assert_eq!(push(&scene, &scene.task(5, 0..1_000)).await.0, 200);
        }
        let body = json!({"workerId": "W1", "removed": true}).to_string();
        let signature = signature(&scene, body.as_bytes());
        assert_eq!(
            request(&scene, "DELETE workers/W1", &body, &signature).await,
            (200, json!({"ack": true}))
        );
        let over = (&mut scene.worker).await.unwrap();
        assert!(matches!(&over, Over::Refused(refusal) if refusal.status == 410), "{over:?}");
        let ends = ["POST tasks/t5/fail", "POST tasks/t5/complete", "DELETE workers/W1"];
        assert_eq!(ends.map(|what| scene.master.count(what)), [0; 3]);
    }
}

/// S6: only the master removes a worker; a signed task that was recorded does not pass for a removal.
#[tokio::test]
async fn only_the_master_removes_a_worker() {
    let scene = pushed_to(synthetic()).await;
    let body = json!({"workerId": "W1", "removed": true}).to_string();
    let right = signature(&scene, body.as_bytes());
    let wrong = signature(&scene, b"another body");
    for signature in ["", wrong.as_str(), &right.to_uppercase()] {
        assert_eq!(request(&scene, "DELETE workers/W1", &body, signature).await.0, 401, "{signature}");
    }
    assert_eq!(request(&scene, "DELETE workers/W2", &body, &right).await.0, 404);
    let task = scene.task(5, 0..10).to_string();
    let not_removed = json!({"workerId": "W1", "removed": false}).to_string();
    let of_another = json!({"workerId": "W2", "removed": true}).to_string();
    for other in [task.as_str(), &not_removed, &of_another, "", "[]"] {
        let signature = signature(&scene, other.as_bytes());
        assert_eq!(request(&scene, "DELETE workers/W1", other, &signature).await.0, 422, "{other}");
    }
    assert_eq!(push(&scene, &scene.task(5, 0..10)).await.0, 200, "the worker works on");
    scene.master.nth("POST tasks/t5/complete", 0).await;
}

// S8: a worker that is a process of its own, and what may happen to one.

fn start(master: &StandIn, directory: &Path) -> Child {
    let mut worker = Command::new(worker_binary());
    worker.args(["sim", &master.url, "W1"]).arg(directory).args([
        "sh",
        "-c",
        "sleep 1000 & echo frame 0; sleep 1001",
    ]);
    worker
        .env("MUSTER_ENROL_SECRET", "not for programs")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

fn task(directory: &Path, chunk: u64) -> Value {
    json!({"taskId": format!("t{chunk}"), "sessionId": "demo", "scenario": null, "frameRange": [0, 10],
        "globalIdChunk": {"chunkId": chunk, "range": [1, 100]}, "attempt": 1, "epoch": 1,
        "outputDirectory": directory.join(chunk.to_string())})
}

async fn until_it_runs(master: &StandIn, directory: &Path) {
    master.hand_out(task(directory, 5));
    let runs = |script: &Script| {
        let mut beats = script.calls.iter().filter(|call| call.what == "POST workers/W1/heartbeat");
        beats.any(|call| call.json()["lastFrame"] == 0).then_some(())
    };
    master.until(runs).await;
}

fn signal(worker: &Child, signal: &str) {
    let pid = worker.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// S8, S27: one that was stopped for longer than its master waits gives up its task when it goes on, and registers anew.
#[tokio::test]
async fn a_worker_that_was_stopped_starts_over() {
    let (master, place) = (StandIn::start(&[]), tempfile::tempdir().unwrap());
    let mut worker = start(&master, place.path());
    until_it_runs(&master, place.path()).await;
    signal(&worker, "-STOP");
    // Six intervals are the limit. This is the stop itself: nothing is waited for.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(master.count("POST workers/register"), 1);
    signal(&worker, "-CONT");
    master.nth("POST workers/register", 1).await;
    master.nth("GET workers/W1/tasks", 1).await;
    assert_eq!(processes_of(place.path()), Vec::<String>::new());
    assert_eq!(master.count("POST tasks/t5/complete") + master.count("POST tasks/t5/fail"), 0);
    worker.kill().await.unwrap();
}

/// S1, S27: nothing of a program outlives a worker that was killed; another of the same name registers anew.
#[tokio::test]
async fn a_killed_worker_leaves_nothing_behind() {
    let (master, place) = (StandIn::start(&[]), tempfile::tempdir().unwrap());
    let mut worker = start(&master, place.path());
    until_it_runs(&master, place.path()).await;
    assert!(!processes_of(place.path()).is_empty());
    worker.kill().await.unwrap();
    wait_for_earlier_guards(&place.path().join("W1.lock")).await.unwrap();
    assert_eq!(processes_of(place.path()), Vec::<String>::new());
    let mut worker = start(&master, place.path());
    master.nth("POST workers/register", 1).await;
    master.hand_out(task(place.path(), 6));
    let begun = |script: &Script| {
        let mut told = script.calls.iter().filter(|call| call.what == "POST workers/W1/progress");
        told.any(|call| call.json()["taskId"] == "t6").then_some(())
    };
    master.until(begun).await;
    worker.kill().await.unwrap();
}
