//! A server that begins anew with what a checkpoint holds (S20).

use crate::world::{World, completion};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn distributed(checkpoint: &[u8]) -> Value {
    let document: Value = serde_json::from_slice(checkpoint).unwrap();
    document["checkpoint"]["distributed"].clone()
}

/// What must differ after a restore: the term, and what workers have to say anew.
fn without_the_present(mut all: Value) -> Value {
    for key in ["epoch", "takenAt", "metricsSnapshot"] {
        all.as_object_mut().unwrap().remove(key);
    }
    for worker in all["workers"].as_array_mut().unwrap() {
        for key in ["queueRatio", "lastFrame"] {
            worker.as_object_mut().unwrap().remove(key);
        }
    }
    all
}

/// S20: a checkpoint of what was restored is the checkpoint it was restored from.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_checkpoint_is_the_same() {
    let world = World::new().await;
    world.session(60, 10).await;
    world.session_as(json!({"sessionId": "s2", "totalFrames": 30, "framesPerTask": 10})).await;
    let (one, two) = (world.register("w1").await.healthy().await, world.register("w2").await.healthy().await);
    let (done, lost) = (one.task().await, two.task().await);
    assert_eq!(one.complete(&done).await.status, 200);
    two.progress(&lost, json!({"diagnostics": ["x"]})).await;
    assert_eq!(world.post("workers/w2/quarantine", json!({"reason": "hot"})).await.status, 200);
    let again = one.task().await;
    assert_eq!((&again["frameRange"], &again["replay"]), (&lost["frameRange"], &json!(true)));
    assert_eq!(one.complete(&again).await.status, 200);
    let given_back = one.task().await;
    let body = json!({"workerId": "w1", "attempt": given_back["attempt"], "error": "out of memory"});
    let path = format!("POST /api/v1/tasks/{}/fail", given_back["taskId"].as_str().unwrap());
    assert_eq!(one.call(&path, body).await.status, 200);
    assert_eq!(world.post("sessions/s2/cancel", json!({})).await.status, 200);
    assert_eq!(world.post("workers/broadcast", json!({"command": "PauseAll"})).await.status, 200);
    let is_moved = |entry: &Value| entry["moved"] == true;
    world.until("quarantine", |all| all["entries"].as_array().unwrap().iter().all(is_moved)).await;

    let checkpoint = world.checkpoint().await;
    let epoch = distributed(&checkpoint)["epoch"].as_u64().unwrap();
    let world = world.restored(&checkpoint).await;
    let after = distributed(&world.checkpoint().await);
    assert!(after["epoch"].as_u64().unwrap() > epoch);
    assert_eq!(without_the_present(after), without_the_present(distributed(&checkpoint)));
    let session = json!({"sessionId": "s1", "totalFrames": 60, "framesPerTask": 10});
    assert_eq!(world.post("sessions", session).await.status, 200);
}

/// S13, S19, S20: after a restore running tasks are given out anew with ids that were never granted, completed ones stay
/// so, tokens hold, and the session ends complete.
#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_after_a_restore() {
    let world = World::new().await;
    world.session(30, 10).await;
    let (one, two) = (world.register("w1").await.healthy().await, world.register("w2").await.healthy().await);
    let (done, running) = (one.task().await, two.task().await);
    let said = completion("w1", &done);
    assert_eq!(one.complete_as(&done, said.clone()).await.status, 200);
    two.progress(&running, json!({"processedFrames": 4})).await;
    let (first, second) = (one.token.clone(), two.token.clone());
    let checkpoint = world.checkpoint().await;
    // What happens after a checkpoint was taken is lost with the store, but its ids may be in use.
    let later = one.task().await;

    let world = world.restored(&checkpoint).await;
    let (one, two) = (world.known("w1", &first), world.known("w2", &second));
    assert_eq!(one.beat(0.1).await["commands"][0], "rebind");
    assert_eq!(one.complete_as(&done, said).await.status, 200);
    let mut other = completion("w1", &done);
    other["poseFiles"] = json!([]);
    assert_eq!(one.complete_as(&done, other).await.status, 409);
    assert_eq!(two.complete(&running).await.status, 409);

    let mut chunks: BTreeSet<u64> = [&done, &running, &later].map(number).into();
    while world.get("sessions/s1").await.body["completedFrames"] != 30 {
        let task = one.task().await;
        assert!(chunks.insert(number(&task)), "{task} has a chunk of another");
        assert_eq!(one.complete(&task).await.status, 200);
    }
    let session = world.until("sessions/s1", |session| session["status"] == "completed").await;
    assert_eq!(session["replays"][0]["retiredChunkId"], number(&running));
    let retired = world.get("chunks?state=retired").await.body;
    assert_eq!(retired["chunks"][0]["chunkId"], number(&running));
    let manifest = std::fs::read(world.path("session_s1/meta/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["gaps"], json!([]));
}

fn number(task: &Value) -> u64 {
    task["globalIdChunk"]["chunkId"].as_u64().unwrap()
}
