//! Views and orders of operators, and servers that begin anew with a checkpoint: S6, S7, S9, S11, S15, S20.

use crate::world::{ADMIN, ADVERTISED, ENROL, World, completion};
use axum::{
    body::Body,
    http::{Request, header},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// S9: a worker in quarantine gets no work and cannot register until an operator approves it, with a reason.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_quarantined_and_approved() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    assert_eq!(world.post("workers/w1/quarantine", json!({})).await.body["field"], "reason");
    let answer = world.post("workers/w1/quarantine", json!({"reason": "smells"})).await;
    assert_eq!((answer.status, &answer.body["state"]), (200, &json!("Quarantined")), "{answer:?}");
    let refused = world.call("POST /api/v1/workers/register", ENROL, json!({"workerId": "w1"})).await;
    assert_eq!(refused.status, 403);
    assert_eq!(worker.pull().await.status, 403);
    assert_eq!(worker.complete(&task).await.status, 409);
    assert_eq!(world.get("chunks?state=retired").await.body["chunks"][0]["chunkId"], 1);
    assert_eq!(world.post("workers/w1/approve", json!({"reason": " "})).await.status, 422);
    let approved = world.post("workers/w1/approve", json!({"reason": "new card"})).await;
    assert_eq!(approved.status, 200, "{approved:?}");
    let last = approved.body["transitions"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["from"], "Quarantined");
    assert!(last["cause"].as_str().unwrap().contains("new card"), "{last}");
    assert_eq!(world.post("workers/w1/approve", json!({"reason": "x"})).await.status, 409);
    assert_eq!(world.post("workers/nobody/approve", json!({"reason": "x"})).await.status, 404);
    assert_eq!(world.register("w1").await.task().await["taskId"], task["taskId"]);
}

/// S6: a waiting task is placed by hand, before the order of the queue; what does not wait or fit is 409.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_placed_by_hand() {
    let world = World::new().await;
    world.session(1000, 100).await;
    let (one, two) = (world.register("w1").await, world.register("w2").await);
    let assign =
        |task: &str, worker: &str| world.post("tasks/assign", json!({"taskId": task, "workerId": worker}));
    let placed = assign("s1.00000500", "w1").await;
    assert_eq!((placed.status, &placed.body), (200, &json!({"taskId": "s1.00000500", "workerId": "w1"})));
    assert_eq!(one.task().await["taskId"], "s1.00000500");
    assert_eq!(two.task().await["taskId"], "s1.00000000");
    assert_eq!(assign("s1.00000500", "w2").await.status, 409);
    assert_eq!(assign("s1.00000600", "w1").await.status, 409);
    assert_eq!(assign("s9.00000000", "w1").await.status, 404);
    assert_eq!(assign("s1.00000600", "nobody").await.status, 404);
    assert_eq!(world.post("tasks/assign", json!({"taskId": "s1.00000600"})).await.body["field"], "workerId");
}

/// S6: between PauseAll and ResumeAll no task is given out, also to late joiners and after a restart.
#[tokio::test(flavor = "multi_thread")]
async fn everything_is_paused() {
    let world = World::new().await;
    world.session(100, 100).await;
    let pause = world.post("workers/broadcast", json!({"command": "PauseAll"})).await;
    assert_eq!((pause.status, &pause.body), (200, &json!({"command": "PauseAll", "paused": true})));
    assert_eq!(world.register("w1").await.pull().await.body, json!({"task": null}));
    assert_eq!(world.get("status").await.body["status"], "paused");
    let world = world.reborn().await;
    let worker = world.register("w2").await;
    assert_eq!(worker.pull().await.body, json!({"task": null}));
    assert!(worker.beat(0.1).await["commands"].as_array().unwrap().contains(&json!("pause")));
    assert_eq!(world.post("workers/broadcast", json!({"command": "ResumeAll"})).await.status, 200);
    assert_eq!(worker.task().await["sessionId"], "s1");
    assert_eq!(world.post("workers/broadcast", json!({"command": "Stop"})).await.status, 422);
}

/// S7, S11: the status counts workers and sessions; `/metrics` has every state and transition; the catalogue shows who
/// can do what.
#[tokio::test(flavor = "multi_thread")]
async fn everything_is_counted() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await.healthy().await;
    let task = worker.task().await;
    let _idle = world.register("w2").await;
    let status = world.get("status").await.body;
    assert_eq!((&status["status"], &status["epoch"]), (&json!("ok"), &json!(1)));
    assert_eq!(status["leader"], ADVERTISED);
    assert_eq!((&status["workers"]["Healthy"], &status["workers"]["Registered"]), (&json!(1), &json!(1)));
    assert_eq!((&status["sessions"]["running"], &status["warnings"]), (&json!(1), &json!([])));
    let metrics = world.metrics().await;
    for line in [
        "muster_sim_workers{state=\"Healthy\"} 1",
        "muster_sim_workers{state=\"Lost\"} 0",
        "muster_sim_workers{state=\"Removed\"} 0",
        "muster_sim_workers{state=\"zombie\"} 0",
        "muster_sim_worker_transitions_total{from=\"Registered\",to=\"Healthy\"} 1",
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} in {metrics}");
    }
    let workers = world.get("workers").await.body["workers"].clone();
    assert_eq!((&workers[0]["workerId"], &workers[0]["state"]), (&json!("w1"), &json!("Healthy")));
    assert_eq!((&workers[0]["role"], &workers[0]["capabilities"]), (&json!("sim"), &json!({"gpu": "x"})));
    assert_eq!((&workers[0]["currentTask"], &workers[1]["currentTask"]), (&task["taskId"], &Value::Null));
    assert_eq!(workers[0]["lastHeartbeat"], 1_700_000_000_000_i64);
    let page = world.get("workers?limit=1").await.body;
    let next = page["next"].as_str().unwrap();
    let rest = world.get(&format!("workers?limit=1&after={next}")).await.body;
    assert_eq!((&rest["workers"][0]["workerId"], rest.get("next")), (&json!("w2"), None));
    assert_eq!(world.get("workers?stat=x").await.status, 422);
}

/// S7: `leader` is the advertised URL, whatever the caller's headers say.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_does_not_name_the_leader() {
    let world = World::new().await;
    for host in ["localhost:7400", "6.6.6.6", "127.0.0.1:1", "[::1]:9"] {
        let request = Request::get("/api/v1/status").header(header::HOST, host);
        let request =
            request.header("x-forwarded-host", "evil.example").header("forwarded", "host=evil.example");
        let request = request.header(header::AUTHORIZATION, format!("Bearer {ADMIN}"));
        let answer = world.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!((answer.status, &answer.body["leader"]), (200, &json!(ADVERTISED)), "{host}");
        assert!(!answer.body.to_string().contains(host), "{answer:?}");
    }
}

/// S15: what was set apart is listed, and a person says that they have looked.
#[tokio::test(flavor = "multi_thread")]
async fn the_quarantine_is_confirmed() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    worker.task().await;
    std::fs::write(world.path("session_s1/chunks/1/0.png"), "x").unwrap();
    assert_eq!(world.call("DELETE /api/v1/workers/w1", ADMIN, Value::Null).await.status, 200);
    let is_moved = |body: &Value| {
        let entries = body["entries"].as_array().unwrap();
        entries.iter().any(|entry| entry["id"] == "chunk-1" && entry["moved"] == true)
    };
    let listed = world.until("quarantine", is_moved).await;
    let entry =
        listed["entries"].as_array().unwrap().iter().find(|entry| entry["id"] == "chunk-1").unwrap().clone();
    assert_eq!(
        (&entry["kind"], &entry["path"]),
        (&json!("dropped_chunk"), &json!("quarantine/dropped_chunks/1"))
    );
    assert_eq!((&entry["files"], &entry["confirmed"]), (&json!(1), &json!(false)));
    assert_eq!(world.post("quarantine/chunk-1/confirm", json!({})).await.body["field"], "note");
    let confirmed = world.post("quarantine/chunk-1/confirm", json!({"note": "nothing to rescue"})).await;
    assert_eq!((confirmed.status, &confirmed.body["confirmed"]), (200, &json!(true)), "{confirmed:?}");
    assert_eq!(confirmed.body["note"], "nothing to rescue");
    assert_eq!(world.post("quarantine/chunk-9/confirm", json!({"note": "x"})).await.status, 404);
    assert_eq!(world.post("quarantine/what/confirm", json!({"note": "x"})).await.status, 404);
}

/// S20: a checkpoint has everything, in canonical JSON with its hash, and no token in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_has_everything() {
    let world = World::new().await;
    let scenario = json!({"tiny": 1e-7, "name": "prachtvolle Straße"});
    let body = json!({"sessionId": "s1", "totalFrames": 200, "framesPerTask": 50, "scenario": scenario});
    world.session_as(body).await;
    let (one, two) = (world.register("w1").await.healthy().await, world.register("w2").await);
    let (done, running) = (one.task().await, two.task().await);
    assert_eq!(one.complete(&done).await.status, 200);
    two.progress(&running, json!({"processedFrames": 4})).await;
    assert_eq!(two.beat_as(json!({"queueRatio": 0.25, "lastFrame": 53})).await.status, 200);
    let text = String::from_utf8(world.checkpoint().await).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document.to_string(), text);
    let hash = Sha256::digest(document["checkpoint"].to_string().as_bytes());
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(document["sha256"], hash);
    for secret in [&one.token, &two.token] {
        assert!(!text.contains(secret.as_str()));
        let hashed: String =
            Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(text.contains(&hashed));
    }
    let all = &document["checkpoint"]["distributed"];
    let workers = all["workers"].as_array().unwrap();
    assert_eq!((&workers[1]["workerId"], &workers[1]["currentTask"]), (&json!("w2"), &running["taskId"]));
    assert_eq!(
        (&workers[1]["frameRange"], &workers[0]["state"]),
        (&running["frameRange"], &json!("Healthy"))
    );
    assert_eq!(workers[1]["lastHeartbeat"], 1_700_000_000_000_i64);
    assert_eq!((&workers[1]["queueRatio"], &workers[1]["lastFrame"]), (&json!(0.25), &json!(53)));
    let tasks = all["tasks"].as_array().unwrap();
    let statuses: Vec<&str> = tasks.iter().map(|task| task["status"].as_str().unwrap()).collect();
    assert_eq!((statuses[0], statuses[1], *statuses.last().unwrap()), ("completed", "running", "pending"));
    assert_eq!(tasks[1]["globalIdChunk"], running["globalIdChunk"]);
    let mut end = 0;
    for task in tasks {
        assert_eq!(task["frameRange"][0], end);
        end = task["frameRange"][1].as_u64().unwrap();
    }
    assert_eq!(end, 200);
    let allocator = &all["globalIdAllocator"];
    assert_eq!(
        (&allocator["nextRangeStart"], &allocator["chunkSize"]),
        (&json!(2_000_000), &json!(1_000_000))
    );
    assert_eq!((&allocator["retiredChunks"], &all["epoch"]), (&json!([]), &json!(1)));
    assert_eq!(all["manifestFragments"], json!(["session_s1/meta/manifest_fragment_w1_1.json"]));
    assert_eq!(all["sessions"][0]["sessionId"], "s1");
    let body: Value = serde_json::from_str(all["sessions"][0]["body"].as_str().unwrap()).unwrap();
    assert_eq!(body["scenario"], scenario);
}

fn distributed(checkpoint: &[u8]) -> Value {
    let document: Value = serde_json::from_slice(checkpoint).unwrap();
    document["checkpoint"]["distributed"].clone()
}

/// Removes what must differ after a restore: the term, and what workers have to say anew.
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

/// S16, S20: a checkpoint has every replay; a checkpoint of what was restored is the checkpoint it was restored from.
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
    assert_eq!(one.fail(&given_back, "out of memory").await.status, 200);
    assert_eq!(world.post("sessions/s2/cancel", json!({})).await.status, 200);
    assert_eq!(world.post("workers/broadcast", json!({"command": "PauseAll"})).await.status, 200);
    let is_moved = |entry: &Value| entry["moved"] == true;
    world.until("quarantine", |all| all["entries"].as_array().unwrap().iter().all(is_moved)).await;

    let checkpoint = world.checkpoint().await;
    let replay = distributed(&checkpoint)["replays"][0].clone();
    assert_eq!(replay["frameRange"], lost["frameRange"]);
    assert_eq!(replay["retiredChunkId"], lost["globalIdChunk"]["chunkId"]);
    assert_eq!(replay["newChunkId"], again["globalIdChunk"]["chunkId"]);
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
    // Changes made after a checkpoint are lost with the store, but their ids may be in use.
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
    assert_eq!(world.manifest()["gaps"], json!([]));
}

fn number(task: &Value) -> u64 {
    task["globalIdChunk"]["chunkId"].as_u64().unwrap()
}
