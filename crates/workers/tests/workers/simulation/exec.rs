//! S27: a worker that has programs do its work.

use super::scene::{Scene, Script};
use muster_worker_kit::process::wait_for_earlier_guards;
use muster_workers::simulation::core::Over;
use serde_json::json;
use std::fs;

/// S27: the program runs in the output directory, knows its task from its environment and nothing else of the worker's,
/// and its files are handed in with a plain fragment.
#[tokio::test]
async fn a_program_renders_a_range() {
    let script =
        "env > env.txt; pwd > pwd.txt; mkdir poses; echo '{}' > poses/b.json; echo '{}' > poses/a.json
        echo starting; echo frame 104; echo dropped 2; echo queue 0.5";
    let scene = Scene::exec(script).await;
    scene.master.hand_out(scene.task(5, 100..110));
    let body = scene.master.nth("POST tasks/t5/complete", 0).await.json();
    let directory = scene.chunk(5);
    let read = |name: &str| fs::read_to_string(directory.join(name)).unwrap();
    assert_eq!(read("pwd.txt").trim(), directory.canonicalize().unwrap().to_str().unwrap());
    let environment = read("env.txt");
    for line in [
        "MUSTER_TASK_ID=t5",
        "MUSTER_SESSION_ID=demo",
        "MUSTER_FRAME_START=100",
        "MUSTER_FRAME_END=110",
        "MUSTER_CHUNK_ID=5",
        "MUSTER_ID_START=5000000",
        "MUSTER_ID_END=5000030",
        "MUSTER_WORKER_ID=W1",
        &format!("MUSTER_OUTPUT_DIR={}", directory.display()),
        "MUSTER_SCENARIO={\"fps\":25}",
    ] {
        assert!(environment.lines().any(|other| other == line), "{line} is not in {environment}");
    }
    assert!(!environment.contains("CARGO"), "{environment}");
    assert_eq!(body["poseFiles"], json!(["poses/a.json", "poses/b.json"]));
    let fragment = &body["manifestFragment"];
    assert_eq!((&fragment["frameRange"], &fragment["globalIdChunkId"]), (&json!([100, 110]), &json!(5)));
    assert_eq!(fragment["statistics"], json!({"frames": 8, "droppedFrames": 2}));
    assert_eq!((&fragment["workerId"], &fragment["replay"]), (&json!("W1"), &json!(false)));
}

/// S27: a fragment that the program left is used, by path.
#[tokio::test]
async fn a_fragment_of_the_program_is_used() {
    let script = "mkdir meta; echo '{}' > meta/manifest_fragment_${MUSTER_WORKER_ID}_${MUSTER_CHUNK_ID}.json";
    let scene = Scene::exec(script).await;
    scene.master.hand_out(scene.task(5, 0..10));
    let body = scene.master.nth("POST tasks/t5/complete", 0).await.json();
    assert_eq!(body["manifestFragmentPath"], "meta/manifest_fragment_W1_5.json");
    assert_eq!(body.get("manifestFragment"), None);
}

/// S4, S27: what a program prints about its progress reaches the master.
#[tokio::test]
async fn progress_of_a_program_is_told() {
    let scene =
        Scene::exec("echo frame 3; echo queue 0.75; until [ -e ../../go ]; do sleep 0.01; done").await;
    scene.master.hand_out(scene.task(5, 0..10));
    let told = |script: &Script| {
        let progress = script.calls.iter().filter(|call| call.what == "POST workers/W1/progress");
        progress.map(|call| call.json()).find(|body| body["processedFrames"] == 4)
    };
    assert_eq!(scene.master.until(told).await["maxQueueRatio"], 0.75);
    let beat = |script: &Script| {
        let beats = script.calls.iter().filter(|call| call.what == "POST workers/W1/heartbeat");
        beats.map(|call| call.json()).find(|body| body["lastFrame"] == 3 && body["queueRatio"] == 0.75)
    };
    scene.master.until(beat).await;
    fs::write(scene.directory.path().join("go"), "").unwrap();
    scene.master.nth("POST tasks/t5/complete", 0).await;
}

/// S5b: a program that fails gives its task back with the end of what it complained of.
#[tokio::test]
async fn a_failing_program_gives_its_task_back() {
    let scene =
        Scene::exec("head -c 100000 /dev/zero | tr '\\0' x >&2; echo out of memory >&2; exit 3").await;
    scene.master.hand_out(scene.task(5, 0..10));
    let fail = scene.master.nth("POST tasks/t5/fail", 0).await.json();
    let error = fail["error"].as_str().unwrap();
    assert!(error.starts_with("sh ended with 3: xxx") && error.ends_with("out of memory"), "{error}");
    assert!(error.len() < 3_000);
    assert_eq!((&fail["workerId"], &fail["attempt"]), (&json!("W1"), &json!(1)));
    scene.master.hand_out(scene.task(6, 0..10));
    scene.master.nth("POST tasks/t6/fail", 0).await;
}

/// Ignores every polite signal, has a child in a session of its own, says that it is there, and goes on for ever.
const STUBBORN: &str = "trap '' TERM INT HUP; setsid sleep 1000 & echo frame 0; while :; do sleep 1001; done";

async fn until_it_runs(scene: &Scene) {
    scene.master.hand_out(scene.task(5, 0..10));
    let runs = |script: &Script| {
        let mut beats = script.calls.iter().filter(|call| call.what == "POST workers/W1/heartbeat");
        beats.any(|call| call.json()["lastFrame"] == 0).then_some(())
    };
    scene.master.until(runs).await;
    assert!(!scene.processes().is_empty());
}

/// S2, S27: a task that is stopped is gone with all its children before the next is asked for, and nothing is told of it.
#[tokio::test]
async fn a_stopped_program_is_gone_with_its_children() {
    let scene = Scene::exec(STUBBORN).await;
    until_it_runs(&scene).await;
    let pulls = scene.master.count("GET workers/W1/tasks");
    scene.master.desk().commands = vec![json!({"stop": "t5"})];
    scene.master.nth("GET workers/W1/tasks", pulls).await;
    assert_eq!(scene.processes(), Vec::<String>::new());
    assert_eq!(scene.master.count("POST tasks/t5/fail") + scene.master.count("POST tasks/t5/complete"), 0);
}

/// S8, S27: a worker that cannot reach its master ends the program.
#[tokio::test]
async fn an_outage_ends_the_program() {
    let scene = Scene::exec(STUBBORN).await;
    until_it_runs(&scene).await;
    scene.master.desk().is_down = true;
    scene.master.nth("POST workers/register", 1).await;
    scene.master.desk().is_down = false;
    let pulls = scene.master.count("GET workers/W1/tasks");
    scene.master.nth("GET workers/W1/tasks", pulls).await;
    assert_eq!(scene.processes(), Vec::<String>::new());
}

/// S6, S27: asked to leave, the worker ends the program before it says so.
#[tokio::test]
async fn leaving_ends_the_program() {
    let mut scene = Scene::exec(STUBBORN).await;
    until_it_runs(&scene).await;
    assert_eq!(scene.leave().await, Over::Left);
    assert_eq!(scene.processes(), Vec::<String>::new());
    assert_eq!(scene.master.count("DELETE workers/W1"), 1);
    wait_for_earlier_guards(&scene.directory.path().join("guards.lock")).await.unwrap();
}

/// S27: a scenario that is too long for an environment is left as a file.
#[tokio::test]
async fn a_long_scenario_is_a_file() {
    let scene = Scene::exec("[ -z \"$MUSTER_SCENARIO\" ] && wc -c < \"$MUSTER_SCENARIO_FILE\" > size").await;
    let mut task = scene.task(5, 0..10);
    task["scenario"] = json!("x".repeat(200_000));
    scene.master.hand_out(task);
    scene.master.nth("POST tasks/t5/complete", 0).await;
    assert_eq!(fs::read_to_string(scene.chunk(5).join("size")).unwrap().trim(), "200002");
}

fn progress_of(script: &Script, task: &str) -> Vec<u64> {
    let told = script.calls.iter().filter(|call| call.what == "POST workers/W1/progress");
    let told = told.map(|call| call.json()).filter(|body| body["taskId"] == task);
    told.map(|body| body["processedFrames"].as_u64().unwrap()).collect()
}

/// S26b: the master knows how far a program was before it hears that the program failed, whether the program printed
/// that or only wrote the files. So the first frame that is not done is known.
#[tokio::test]
async fn a_failure_comes_after_the_last_progress() {
    for tells in ["echo frame $n", "true"] {
        let scene = Scene::exec(&format!(
            "mkdir frames; n=$MUSTER_FRAME_START
            while [ $n -lt 104 ]; do echo x > frames/0000$n.png; {tells}; n=$((n + 1)); done
            echo no bone in frame $n >&2; exit 7"
        ))
        .await;
        scene.master.hand_out(scene.task(5, 100..110));
        let fail = scene.master.nth("POST tasks/t5/fail", 0).await.json();
        assert_eq!(fail["error"], "sh ended with 7: no bone in frame 104");
        let script = scene.master.desk();
        assert_eq!(progress_of(&script, "t5").last(), Some(&4), "{tells}");
        let last = script.calls.iter().rposition(|call| call.what == "POST workers/W1/progress");
        let failed = script.calls.iter().position(|call| call.what == "POST tasks/t5/fail");
        assert!(last < failed, "{tells}");
    }
}

/// S4, S27: the files of a program that prints nothing are its progress while it runs.
#[tokio::test]
async fn files_are_progress() {
    let scene = Scene::exec(
        "mkdir frames; for n in 0 1 2; do echo x > frames/0000000$n.png; done
        until [ -e ../../go ]; do sleep 0.01; done",
    )
    .await;
    scene.master.hand_out(scene.task(5, 0..10));
    scene.master.until(|script| progress_of(script, "t5").contains(&3).then_some(())).await;
    fs::write(scene.directory.path().join("go"), "").unwrap();
    scene.master.nth("POST tasks/t5/complete", 0).await;
}

/// S21, S27: the files that a failed program left, a fragment among them, are no part of what the next attempt hands in.
#[tokio::test]
async fn files_of_a_failed_program_stay_with_it() {
    let scene = Scene::exec(
        "mkdir frames poses meta; echo x > frames/00000000.png; echo '{}' > poses/$MUSTER_CHUNK_ID.json
        [ $MUSTER_CHUNK_ID = 6 ] && exit 0
        echo '{}' > meta/manifest_fragment_${MUSTER_WORKER_ID}_${MUSTER_CHUNK_ID}.json; exit 1",
    )
    .await;
    scene.master.hand_out(scene.task(5, 0..10));
    let fail = scene.master.nth("POST tasks/t5/fail", 0).await.json();
    assert_eq!(fail["error"], "sh ended with 1");
    let mut again = scene.task(6, 0..10);
    (again["taskId"], again["attempt"]) = (json!("t5"), json!(2));
    scene.master.hand_out(again);
    let body = scene.master.nth("POST tasks/t5/complete", 0).await.json();
    assert_eq!((&body["attempt"], &body["poseFiles"]), (&json!(2), &json!(["poses/6.json"])));
    assert_eq!(body["manifestFragment"]["globalIdChunkId"], 6);
    assert_eq!(scene.master.count("POST tasks/t5/complete"), 1);
    assert!(scene.chunk(5).join("frames/00000000.png").exists(), "the worker deletes nothing");
}
