//! Frames that fail, ranges that the manifest skips, and what is delivered all the same: S20b, S21, S23b, S26b, S26c.

use crate::world::{ADMIN, Worker, World, fragment};
use serde_json::{Value, json};
use std::fs;

/// The frame that fails.
const BAD: u64 = 33;

/// Renders all that is waiting, with a file per frame. A range with the bad frame fails at it.
async fn render(world: &World, worker: &Worker<'_>, bad: Option<u64>) {
    loop {
        let task = worker.pull().await.body["task"].clone();
        if task.is_null() {
            return;
        }
        let bounds = [0, 1].map(|index| task["frameRange"][index].as_u64().unwrap());
        let home = task["outputDirectory"].as_str().unwrap();
        for frame in bounds[0]..bad.filter(|bad| *bad >= bounds[0]).unwrap_or(bounds[1]).min(bounds[1]) {
            fs::write(format!("{home}/frame_{frame:04}.png"), format!("{frame}")).unwrap();
        }
        match bad.filter(|bad| (bounds[0]..bounds[1]).contains(bad)) {
            None => assert_eq!(worker.complete(&task).await.status, 200),
            Some(bad) => {
                worker.progress(&task, json!({"processedFrames": bad - bounds[0]})).await;
                assert_eq!(worker.fail(&task, "no such texture").await.status, 200);
            }
        }
        world.pass(10).await;
    }
}

fn names(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path("session_s1/frames")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// S26b, S26c: one bad frame costs one frame. A strict session fails and names it, the rest is delivered in order, nobody
/// is put into quarantine, and a retry completes the session.
#[tokio::test(flavor = "multi_thread")]
async fn one_bad_frame_costs_one_frame() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    render(&world, &worker, Some(BAD)).await;
    let session = world.until("sessions/s1", |session| session["status"] != "running").await;
    assert_eq!((&session["status"], &session["complete"]), (&json!("failed"), &json!(false)));
    assert_eq!((&session["completedFrames"], &session["skippedFrames"]), (&json!(99), &json!(1)));
    assert_eq!(session["failedFrames"], json!([[BAD, BAD + 1]]));
    let error = session["error"].as_str().unwrap();
    assert!(error.starts_with("1 frame missing, [33, 34): ") && error.contains("no such texture"), "{error}");
    let red = session["coverage"].as_array().unwrap().iter().find(|entry| entry["status"] == "failed");
    assert_eq!(red.unwrap()["frameRange"], json!([BAD, BAD + 1]));
    assert_eq!(world.manifest()["skipped"][0]["frameRange"], json!([BAD, BAD + 1]));
    let delivered: Vec<String> =
        (0..100).filter(|frame| *frame != BAD).map(|frame| format!("{frame:08}.png")).collect();
    assert_eq!(names(&world), delivered);
    assert_eq!(worker.beat(0.1).await["state"], "Registered", "it is not in quarantine");

    let none = world.post("sessions/s1/retry", json!({"frames": [[0, BAD]]})).await;
    assert!(none.status == 409 && none.body["detail"].as_str().unwrap().contains("failedFrames"), "{none:?}");
    let again = world.post("sessions/s1/retry", json!({"frames": [[BAD, BAD + 1]]})).await;
    assert_eq!((again.status, &again.body["status"]), (200, &json!("running")));
    render(&world, &worker, None).await;
    let session = world.until("sessions/s1", |session| session["status"] != "running").await;
    assert_eq!((&session["status"], &session["complete"]), (&json!("completed"), &json!(true)));
    assert_eq!((&session["failedFrames"], &session["skippedFrames"]), (&json!([]), &json!(0)));
    assert_eq!((names(&world).len(), world.manifest()["skipped"].clone()), (100, json!([])));
    assert_eq!(world.post("sessions/s1/retry", Value::Null).await.status, 409, "nothing failed");
}

/// S26b, S23b: a relaxed session is completed without the frame, and says so everywhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_relaxed_session_names_what_is_missing() {
    let world = World::new().await;
    let body = json!({"sessionId": "s1", "totalFrames": 40, "framesPerTask": 10, "qualityMode": "relaxed"});
    world.session_as(body).await;
    render(&world, &world.register("w1").await, Some(BAD)).await;
    let session = world.until("sessions/s1", |session| session["status"] != "running").await;
    assert_eq!((&session["status"], &session["complete"]), (&json!("completed"), &json!(false)));
    let listed = world.get("sessions").await.body["sessions"][0].clone();
    assert_eq!((&listed["complete"], &listed["skippedFrames"]), (&json!(false), &json!(1)));
    let warnings = world.get("status").await.body["warnings"].clone();
    let is_told = |warning: &Value| warning.to_string().contains("frames_skipped");
    assert!(warnings.as_array().unwrap().iter().any(is_told), "{warnings}");
}

/// S20b: the diagnostics tell of every failure, every halving and the frame that was given up, each with its cause.
#[tokio::test(flavor = "multi_thread")]
async fn diagnostics_tell_what_happened() {
    let world = World::new().await;
    world.session(40, 40).await;
    let worker = world.register("w1").await;
    render(&world, &worker, Some(BAD)).await;
    world.until("sessions/s1", |session| session["status"] == "failed").await;
    world.post("sessions/s1/retry", json!({})).await;
    let lines = world.get("sessions/s1/diagnostics?limit=1000").await.body["diagnostics"].clone();
    for (kind, cause) in [
        ("ended", "no such texture"),
        ("split", "s1.00000000"),
        ("retired", "failed"),
        ("given_up", "no such texture"),
        ("retried", "33"),
    ] {
        let is_it = |line: &Value| line["kind"] == kind && line.to_string().contains(cause);
        assert!(lines.as_array().unwrap().iter().any(is_it), "{kind}: {lines}");
    }
}

/// S23, S23b: a range whose times interleave with those of another one is rendered again; as long as attempts are left,
/// nothing is skipped.
#[tokio::test(flavor = "multi_thread")]
async fn a_range_that_would_be_skipped_is_rendered_again() {
    for is_mended in [true, false] {
        let world = World::new().await;
        world.session(20, 10).await;
        let worker = world.register("w1").await;
        let mut renderings = 0;
        let ended = |session: &Value| session["status"] != "running";
        while !ended(&world.get("sessions/s1").await.body) {
            let task = worker.pull().await.body["task"].clone();
            if task.is_null() {
                tokio::task::yield_now().await;
                continue;
            }
            let is_second = task["frameRange"][0] == 10;
            renderings += u32::from(is_second);
            let offset = if is_second && !(is_mended && renderings > 1) {
                5
            } else {
                task["frameRange"][0].as_i64().unwrap()
            };
            let frames: Vec<Value> = (0..10)
                .map(|frame| {
                    json!({"frameId": task["frameRange"][0].as_i64().unwrap() + frame, "timestamp": offset + frame})
                })
                .collect();
            let mut fragment = fragment("w1", &task);
            fragment["frames"] = json!(frames);
            let body = json!({"workerId": "w1", "attempt": task["attempt"], "manifestFragment": fragment});
            assert_eq!(worker.complete_as(&task, body).await.status, 200);
        }
        let session = world.get("sessions/s1").await.body;
        let lines = world.get("sessions/s1/diagnostics").await.body.to_string();
        assert!(lines.contains("skipped"), "{lines}");
        if is_mended {
            assert_eq!((&session["status"], renderings), (&json!("completed"), 2));
            assert_eq!(
                (&session["complete"], world.manifest()["skipped"].clone()),
                (&json!(true), json!([]))
            );
        } else {
            assert_eq!((&session["status"], renderings), (&json!("failed"), 5));
            assert_eq!(session["failedFrames"], json!([[10, 20]]));
        }
    }
}

/// S21: a session shows what was submitted beside the fragments, and so does its manifest.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_shows_what_was_submitted() {
    let world = World::new().await;
    world.session(20, 10).await;
    render(&world, &world.register("w1").await, None).await;
    let session = world.until("sessions/s1", |session| session["status"] == "completed").await;
    let expected = json!({"frameRange": [0, 10], "globalIdChunkId": 1, "workerId": "w1",
        "poseFiles": ["pose/0.json"], "metricsSnapshot": {"fps": 30}});
    assert_eq!((&session["ranges"][0], &session["rangesComplete"]), (&expected, &json!(true)));
    let range = &world.manifest()["ranges"][1];
    assert_eq!(
        (&range["poseFiles"], &range["metricsSnapshot"]),
        (&json!(["pose/0.json"]), &json!({"fps": 30}))
    );
}

/// S26b: what cannot be retried is refused, and says why.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_is_checked() {
    let world = World::new().await;
    world.session(20, 10).await;
    assert_eq!(world.post("sessions/s9/retry", Value::Null).await.status, 404);
    assert_eq!(world.post("sessions/s1/retry", Value::Null).await.status, 409);
    let wrong = world.post("sessions/s1/retry", json!({"frames": [[5, 5]]})).await;
    assert_eq!((wrong.status, &wrong.body["field"]), (422, &json!("frames[0]")));
    assert_eq!(world.call("POST /api/v1/sessions/s1/retry", "nobody", Value::Null).await.status, 401);
    assert_eq!(world.call("POST /api/v1/sessions/s1/cancel", ADMIN, Value::Null).await.status, 200);
    let cancelled = world.post("sessions/s1/retry", Value::Null).await;
    assert!(cancelled.status == 409 && cancelled.body.to_string().contains("cancelled"), "{cancelled:?}");
}

/// S20, S26b: a checkpoint keeps halves, failures and given-up frames; a restored session goes on from there.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_keeps_failed_frames() {
    let world = World::new().await;
    world.session(40, 40).await;
    let worker = world.register("w1").await;
    for _ in 0..3 {
        let task = worker.task().await;
        assert_eq!(worker.fail(&task, "no such texture").await.status, 200);
    }
    let half_way = world.checkpoint().await;
    let token = worker.token.clone();
    let world = world.restored(&half_way).await;
    let worker = world.known("w1", &token);
    worker.beat(0.1).await;
    render(&world, &worker, Some(BAD)).await;
    let session = world.until("sessions/s1", |session| session["status"] == "failed").await;
    assert_eq!(session["failedFrames"], json!([[BAD, BAD + 1]]));
    let ended = world.checkpoint().await;
    let world = world.restored(&ended).await;
    let session = world.get("sessions/s1").await.body;
    assert_eq!((&session["failedFrames"], &session["skippedFrames"]), (&json!([[BAD, BAD + 1]]), &json!(1)));
    let worker = world.known("w1", &token);
    worker.beat(0.1).await;
    assert_eq!(world.post("sessions/s1/retry", Value::Null).await.status, 200);
    render(&world, &worker, None).await;
    let session = world.until("sessions/s1", |session| session["status"] != "running").await;
    assert_eq!((&session["status"], &session["complete"]), (&json!("completed"), &json!(true)));
}
