//! Ranges handed in and given up: S5, S5b, S12, S13, S17, S21, S26.

use crate::world::{ADMIN, World, completion, fragment};
use serde_json::{Value, json};
use std::fs;

/// S5, S21: a completion is taken once; its fragment is on disk, letter by letter, before that is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_completion_is_taken_once() {
    let world = World::new().await;
    world.session(200, 100).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    let first = worker.complete(&task).await;
    assert_eq!(
        (first.status, &first.body),
        (
            200,
            &json!({"accepted": true, "repeated": false, "taskId": task["taskId"], "workerId": "w1", "attempt": 1})
        )
    );
    let kept = fs::read_to_string(world.path("session_s1/meta/manifest_fragment_w1_1.json")).unwrap();
    assert_eq!(kept, fragment("w1", &task).to_string());
    for _ in 0..2 {
        let again = worker.complete(&task).await;
        assert_eq!((again.status, &again.body["repeated"]), (200, &json!(true)));
    }
    let mut other = completion("w1", &task);
    other["metricsSnapshot"] = json!({"fps": 31});
    let conflict = worker.complete_as(&task, other).await;
    assert_eq!(conflict.status, 409, "{conflict:?}");
    assert_eq!(fs::read_to_string(world.path("session_s1/meta/manifest_fragment_w1_1.json")).unwrap(), kept);
}

/// S5: workerId and attempt may be left out; the fragment's chunk then decides.
#[tokio::test(flavor = "multi_thread")]
async fn a_completion_may_be_short() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    let answer = worker.complete_as(&task, json!({"manifestFragment": fragment("w1", &task)})).await;
    assert_eq!((answer.status, &answer.body["attempt"]), (200, &json!(1)), "{answer:?}");
}

/// S5: a fragment of other frames or with another chunk is 422 by name, and nothing is counted; S17: the latter is a
/// warning.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_fragment_is_refused() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    for (key, wrong) in
        [("frameRange", json!([0, 1])), ("globalIdChunkId", json!(99)), ("workerId", json!("w2"))]
    {
        let mut body = completion("w1", &task);
        body["manifestFragment"][key] = wrong;
        let answer = worker.complete_as(&task, body).await;
        assert_eq!((answer.status, &answer.body["field"]), (422, &json!(format!("manifestFragment.{key}"))));
    }
    assert_eq!(world.get("sessions/s1").await.body["completedFrames"], 0);
    assert!(!world.path("session_s1/meta/manifest_fragment_w1_1.json").exists());
    assert!(!world.path("session_s1/meta/manifest_fragment_w1_99.json").exists());
    let warnings = world.get("status").await.body["warnings"].clone();
    assert_eq!((warnings.as_array().unwrap().len(), &warnings[0]["code"]), (1, &json!("chunkIntegrity")));
    assert_eq!(warnings[0]["workerId"], "w1");
    assert_eq!(worker.complete(&task).await.status, 200);
}

/// S5: files lie in the task's directory; a path that leaves it is 422 by name.
#[tokio::test(flavor = "multi_thread")]
async fn files_stay_in_their_directory() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    let mut body = completion("w1", &task);
    body["poseFiles"] = json!(["pose/0.json", "../x"]);
    let answer = worker.complete_as(&task, body).await;
    assert_eq!((answer.status, &answer.body["field"]), (422, &json!("poseFiles[1]")));
    for wrong in ["../x", "missing.json"] {
        let answer = worker.complete_as(&task, json!({"manifestFragmentPath": wrong})).await;
        assert_eq!((answer.status, &answer.body["field"]), (422, &json!("manifestFragmentPath")), "{wrong}");
    }
}

/// S5, S21: a fragment may come by path; it is copied before it is acknowledged, and a repeat does not need it any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_fragment_comes_by_path() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    let own = world.path("session_s1/chunks/1/meta");
    fs::create_dir(&own).unwrap();
    let text = format!(" {} ", fragment("w1", &task));
    fs::write(own.join("f.json"), &text).unwrap();
    let body = json!({"manifestFragmentPath": "meta/f.json"});
    let answer = worker.complete_as(&task, body.clone()).await;
    assert_eq!((answer.status, &answer.body["repeated"]), (200, &json!(false)), "{answer:?}");
    assert_eq!(fs::read_to_string(world.path("session_s1/meta/manifest_fragment_w1_1.json")).unwrap(), text);
    fs::remove_file(own.join("f.json")).unwrap();
    let again = worker.complete_as(&task, body).await;
    assert_eq!((again.status, &again.body["repeated"]), (200, &json!(true)), "{again:?}");
}

/// S5, S15: a completion that comes too late is 409, inline or by path; its files are set apart, nothing is counted.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_completion_is_set_apart() {
    let world = World::new().await;
    world.session(100, 100).await;
    let late = world.register("w1").await;
    let task = late.task().await;
    fs::write(world.path("session_s1/chunks/1/f.json"), fragment("w1", &task).to_string()).unwrap();
    assert_eq!(late.fail(&task, "oom").await.status, 200);
    let other = world.register("w2").await;
    let again = other.task().await;
    assert_eq!((&again["attempt"], &again["replay"]), (&json!(2), &json!(true)));
    for body in [completion("w1", &task), json!({"manifestFragmentPath": "f.json"})] {
        let answer = late.complete_as(&task, body).await;
        assert_eq!(answer.status, 409, "{answer:?}");
    }
    let entries = world
        .until("quarantine", |body| body["entries"][0]["moved"] == true && body["entries"][0]["files"] != 0)
        .await;
    let entry = &entries["entries"][0];
    assert_eq!((&entry["id"], &entry["kind"]), (&json!("chunk-1"), &json!("dropped_chunk")));
    assert!(world.path("quarantine/dropped_chunks/1/f.json").exists());
    assert_eq!(world.get("sessions/s1").await.body["completedFrames"], 0);
    assert_eq!(other.complete(&again).await.status, 200);
    assert_eq!(late.fail(&task, "x").await.status, 409);
    let unknown = late.call("POST /api/v1/tasks/nothing/complete", completion("w1", &task)).await;
    assert_eq!(unknown.status, 404);
}

/// S26: a strict session refuses dropped frames and has the range done anew; a relaxed one records them, once.
#[tokio::test(flavor = "multi_thread")]
async fn dropped_frames_are_refused_or_recorded() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    assert_eq!(worker.progress(&task, json!({"droppedFrames": 2})).await.status, 200);
    let refused = worker.complete(&task).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    let again = worker.task().await;
    assert_eq!((&again["taskId"], &again["attempt"]), (&task["taskId"], &json!(2)));
    assert!(!world.path("session_s1/meta/manifest_fragment_w1_1.json").exists());
    assert_eq!(worker.complete(&again).await.status, 200);
    let body = json!({"sessionId": "s2", "totalFrames": 100, "framesPerTask": 100, "qualityMode": "relaxed"});
    world.session_as(body).await;
    let task = worker.task().await;
    let mut handed = completion("w1", &task);
    handed["manifestFragment"]["statistics"]["droppedFrames"] = json!(3);
    assert_eq!(worker.complete_as(&task, handed.clone()).await.status, 200);
    assert_eq!(worker.complete_as(&task, handed).await.status, 200);
    let drops = world.get("sessions/s2").await.body["drops"].clone();
    assert_eq!(drops, json!([{"frameRange": task["frameRange"], "workerId": "w1", "droppedFrames": 3}]));
}

/// S1, S12, S13: more ids come in a chunk of their own, at least as large as asked for; no two ever overlap.
#[tokio::test(flavor = "multi_thread")]
async fn ids_are_given_out_once() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    let more =
        async |count: u64| worker.call("POST /api/v1/id-ranges", json!({"requestedCount": count})).await;
    assert_eq!(more(5).await.status, 409, "it holds no task");
    worker.task().await;
    assert_eq!(more(5).await.body, json!({"chunkId": 2, "range": [1_000_000, 2_000_000]}));
    let huge = more((1 << 32) + 1).await;
    assert_eq!(huge.status, 422, "nobody gets what is meant for all: {huge:?}");
    assert_eq!(world.get("chunks").await.body["chunks"].as_array().unwrap().len(), 2);
}

/// S17: an operator retires a chunk; its range is done anew with other ids, and its files are set apart.
#[tokio::test(flavor = "multi_thread")]
async fn a_chunk_is_retired() {
    let world = World::new().await;
    world.session(200, 100).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    assert_eq!(worker.complete(&task).await.status, 200);
    let retired = world.post("chunks/1/retire", json!({"reason": "wrong ids"})).await;
    assert_eq!((retired.status, &retired.body["state"]), (200, &json!("retired")), "{retired:?}");
    assert_eq!((&retired.body["reason"], &retired.body["taskId"]), (&json!("wrong ids"), &task["taskId"]));
    assert_eq!(world.get("chunks?state=retired").await.body["chunks"][0]["chunkId"], 1);
    assert_eq!(world.get("chunks?state=live&session=s1").await.body["chunks"], json!([]));
    let again = worker.task().await;
    assert_eq!((&again["taskId"], &again["replay"]), (&task["taskId"], &json!(true)));
    world.until("quarantine", |body| body["entries"][0]["moved"] == true).await;
    assert!(world.path("quarantine/dropped_chunks/1/manifest_fragment_w1_1.json").exists());
    for (path, body, status) in [
        ("chunks/1/retire", json!({}), 422),
        ("chunks/99/retire", json!({"reason": "x"}), 404),
        ("chunks/x/retire", json!({"reason": "x"}), 404),
    ] {
        assert_eq!(world.post(path, body).await.status, status, "{path}");
    }
    assert_eq!(
        world.call("POST /api/v1/chunks/1/retire", &worker.token, json!({"reason": "x"})).await.status,
        403
    );
    assert_eq!(world.call("GET /api/v1/chunks?state=old", ADMIN, Value::Null).await.status, 422);
}
