//! Every example of the source document, section by section, as requests and answers.

use crate::world::{ENROL, World, fragment};
use serde_json::{Value, json};

/// S1: section 3.1, register: `{workerId, role, capabilities(cameras, gpu), currentSession=null}` is answered with a
/// token and the endpoint of the id range allocator.
#[tokio::test(flavor = "multi_thread")]
async fn section_3_1_register() {
    let world = World::new().await;
    let body = json!({"workerId": "workerA", "role": "simulation",
        "capabilities": {"cameras": ["cam_01"], "gpu": "RTX 4090"}, "currentSession": null});
    let answer = world.call("POST /api/v1/workers/register", ENROL, body.clone()).await;
    assert_eq!(answer.status, 201);
    assert!(answer.body["workerToken"].is_string() && answer.body["idRangeEndpoint"].is_string());
    assert_eq!(world.get("workers/workerA").await.body["registration"], body);
}

/// S2, S4: sections 3.2 and 3.4, heartbeat and progress with exactly the document's fields.
#[tokio::test(flavor = "multi_thread")]
async fn section_3_2_and_3_4_heartbeat_and_progress() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("workerA").await;
    let beat = json!({"queueRatio": 0.4, "gpuUsage": 0.93, "lastFrame": 0, "status": "running"});
    let answer = worker.beat_as(beat).await;
    let expected = json!({"state": "Registered", "epoch": 1, "backpressure": {"level": "ok", "factor": 1.0},
        "commands": []});
    assert_eq!((answer.status, answer.body), (200, expected));
    worker.task().await;
    let progress = json!({"sessionId": "s1", "processedFrames": 42, "maxQueueRatio": 0.66, "droppedFrames": 0,
        "diagnostics": []});
    let answer = worker.call("POST /api/v1/workers/workerA/progress", progress).await;
    assert_eq!((answer.status, answer.body), (200, json!({"ok": true})));
    assert_eq!(world.get("status").await.body["queueDepthSummary"], 0.66);
}

/// S5, S6: sections 3.5 and 3.6, a result with fragment, pose files and metrics; then the worker leaves.
#[tokio::test(flavor = "multi_thread")]
async fn section_3_5_and_3_6_result_and_shutdown() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("workerA").await;
    let task = worker.task().await;
    let result = json!({"manifestFragment": fragment("workerA", &task), "poseFiles": ["pose/000000.json"],
        "metricsSnapshot": {"path": "metrics/snapshot.json"}});
    assert_eq!(worker.complete_as(&task, result).await.status, 200);
    assert_eq!(worker.call("DELETE /api/v1/workers/workerA", Value::Null).await.status, 200);
    assert_eq!(worker.beat(0.0).await["state"], "zombie");
}

/// S12, S13: section 4, worker A has [1, 1,000,000), worker B [1,000,000, 2,000,000).
#[tokio::test(flavor = "multi_thread")]
async fn section_4_ids() {
    let world = World::new().await;
    world.session(200, 100).await;
    let (a, b) = (world.register("workerA").await, world.register("workerB").await);
    assert_eq!(a.task().await["globalIdChunk"], json!({"chunkId": 1, "range": [1, 1_000_000]}));
    assert_eq!(b.task().await["globalIdChunk"], json!({"chunkId": 2, "range": [1_000_000, 2_000_000]}));
}

/// S8, S11: section 5.1, the state machine: Registered, Healthy, Degraded, Lost, Quarantined, each with its condition.
#[tokio::test(flavor = "multi_thread")]
async fn section_5_1_states() {
    let world = World::new().await;
    let worker = world.register("workerA").await;
    let state = async || world.get("workers/workerA").await.body["state"].clone();
    assert_eq!(state().await, "Registered");
    let worker = worker.healthy().await;
    assert_eq!(state().await, "Healthy");
    worker.beat(0.85).await;
    assert_eq!(state().await, "Degraded");
    world.pass(3100).await;
    assert_eq!(state().await, "Lost");
    assert_eq!(world.post("workers/workerA/quarantine", json!({"reason": "security"})).await.status, 200);
    assert_eq!(state().await, "Quarantined");
    let transitions = world.get("workers/workerA").await.body["transitions"].clone();
    let path: Vec<&str> =
        transitions.as_array().unwrap().iter().map(|step| step["to"].as_str().unwrap()).collect();
    assert!(path.ends_with(&["Healthy", "Degraded", "Lost", "Quarantined"]), "{path:?}");
}

/// S8: section 5.4, a spike of the round trip is Degraded and recovers by itself after 30 s of good heartbeats.
#[tokio::test(flavor = "multi_thread")]
async fn section_5_4_network_trouble() {
    let world = World::new().await;
    let worker = world.register("workerA").await.healthy().await;
    let beat = |rtt: u32| json!({"queueRatio": 0.1, "status": "ok", "rttMs": rtt});
    assert_eq!(worker.beat_as(beat(500)).await.body["state"], "Healthy");
    assert_eq!(worker.beat_as(beat(501)).await.body["state"], "Degraded");
    for _ in 0..30 {
        world.pass(1000).await;
        assert_eq!(worker.beat_as(beat(20)).await.body["state"], "Degraded");
    }
    world.pass(1000).await;
    assert_eq!(worker.beat_as(beat(20)).await.body["state"], "Healthy");
}

/// S16, S17: section 5.3, a retired chunk is in `retiredChunks`, and the replay names both.
#[tokio::test(flavor = "multi_thread")]
async fn section_5_3_reassignment() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("workerA").await;
    let task = worker.task().await;
    assert_eq!(world.post("chunks/1/retire", json!({"reason": "wrong chunk"})).await.status, 200);
    let again = worker.task().await;
    let replay = json!({"frameRange": task["frameRange"], "retiredChunkId": 1, "newChunkId": 2});
    assert_eq!(world.get("sessions/s1").await.body["replays"], json!([replay]));
    assert_eq!(again["globalIdChunk"]["chunkId"], 2);
    let checkpoint = world.get("checkpoint").await.body["checkpoint"]["distributed"].clone();
    assert_eq!(checkpoint["globalIdAllocator"]["retiredChunks"], json!([1]));
    assert_eq!(checkpoint["replays"][0]["newChunkId"], 2);
}

/// S20: section 5.2 and 6, the items of a checkpoint.
#[tokio::test(flavor = "multi_thread")]
async fn section_5_2_checkpoint() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("workerA").await;
    worker.task().await;
    let checkpoint = world.get("checkpoint").await.body["checkpoint"]["distributed"].clone();
    for (list, items) in [
        (
            "workers",
            &["workerId", "state", "lastHeartbeat", "currentTask", "queueRatio", "lastFrame", "frameRange"][..],
        ),
        ("tasks", &["frameRange", "globalIdChunk", "status", "taskId", "sessionId", "attempt"]),
    ] {
        let first = checkpoint[list][0].as_object().unwrap();
        assert!(items.iter().all(|item| first.contains_key(*item)), "{list}: {first:?}");
    }
    let allocator = checkpoint["globalIdAllocator"].as_object().unwrap();
    assert!(
        ["nextRangeStart", "chunkSize", "retiredChunks"].iter().all(|item| allocator.contains_key(*item))
    );
    assert!(checkpoint["manifestFragments"].is_array() && checkpoint["metricsSnapshot"].is_object());
}
