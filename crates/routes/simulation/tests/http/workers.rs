//! The life of a worker as it sees it: S1 to S4, S6, S8 to S10, S19.
use crate::world::{self, ADMIN, ENROL, NODE, World, request};
use axum::{body::Body, http::Request};
use muster_http::HttpSettings;
use serde_json::{Value, json};
use std::time::Duration;
use tower::ServiceExt;

/// S1: a registration is answered with a token, and the token is what opens the worker's doors.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_registers() {
    let world = World::new().await;
    let body = json!({"workerId": "worker-a", "role": "simulation", "capabilities": {"cameras": 4, "gpu": "RTX"},
        "currentSession": null});
    let answer = world.call("POST /api/v1/workers/register", ENROL, body).await;
    assert_eq!(answer.status, 201);
    let mut registered = answer.body.clone();
    let token = registered["workerToken"].take();
    assert_eq!(
        registered,
        json!({"workerId": "worker-a", "workerToken": null, "idRangeEndpoint": "/api/v1/id-ranges",
            "heartbeatIntervalMs": 1000, "epoch": 1})
    );
    assert!(token.as_str().unwrap().len() >= 32);
    let own = Request::post("/api/v1/workers/worker-a/heartbeat").header("host", "localhost");
    let own = own.header("x-worker-token", token.as_str().unwrap());
    let beat = world.send(own.body(Body::from(r#"{"queueRatio":0.1}"#)).unwrap()).await;
    assert_eq!((beat.status, &beat.body["state"]), (200, &json!("Registered")));
}

/// S1: the enrolment secret alone registers; every other token is 403, none or a wrong one 401.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_enrolment_secret_registers() {
    let world = World::new().await;
    let worker = world.register("w1").await;
    let body = || json!({"workerId": "w2"});
    for (token, status) in [("wrong", 401), (ADMIN, 403), (NODE, 403), (&worker.token, 403), (ENROL, 201)] {
        assert_eq!(world.call("POST /api/v1/workers/register", token, body()).await.status, status);
    }
    let bare = Request::post("/api/v1/workers/register").header("host", "localhost");
    assert_eq!(world.send(bare.body(Body::from(body().to_string())).unwrap()).await.status, 401);
    let bad = world.call("POST /api/v1/workers/register", ENROL, json!({"workerId": "../x"})).await;
    assert_eq!((bad.status, &bad.body["field"]), (422, &json!("workerId")));
}

/// S1: who registers again has a new token, the old one opens nothing, and what was held is free at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_registration_replaces_the_old() {
    let world = World::new().await;
    world.session(100, 100).await;
    let old = world.register("w1").await;
    let task = old.task().await;
    let new = world.register("w1").await;
    assert_eq!(old.beat_as(json!({"queueRatio": 0})).await.status, 401);
    let again = new.task().await;
    assert_eq!((&again["taskId"], &again["attempt"]), (&task["taskId"], &json!(2)));
    assert_ne!(again["globalIdChunk"]["chunkId"], task["globalIdChunk"]["chunkId"]);
}

/// S1, S2: a token is its worker's own: another's path or name is 403, an operator's or node's token too.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_its_workers_own() {
    let world = World::new().await;
    world.session(100, 100).await;
    let (one, two) = (world.register("w1").await, world.register("w2").await);
    let task = one.task().await;
    let id = task["taskId"].as_str().unwrap();
    let beat = json!({"queueRatio": 0.1});
    let progress = json!({"sessionId": "s1", "processedFrames": 1, "maxQueueRatio": 0});
    for (route, body) in [
        ("POST /api/v1/workers/w1/heartbeat", beat.clone()),
        ("GET /api/v1/workers/w1/tasks", Value::Null),
        ("POST /api/v1/workers/w1/progress", progress),
        ("POST /api/v1/workers/rebind", json!({"workerId": "w1"})),
        ("POST /api/v1/id-ranges", json!({"workerId": "w1", "requestedCount": 5})),
        ("DELETE /api/v1/workers/w1", Value::Null),
        (&format!("POST /api/v1/tasks/{id}/complete"), world::completion("w1", &task)),
        (&format!("POST /api/v1/tasks/{id}/fail"), json!({"workerId": "w1", "error": "x"})),
    ] {
        assert_eq!(two.call(route, body.clone()).await.status, 403, "{route}");
        assert_eq!(world.call(route, "wrong", body.clone()).await.status, 401, "{route}");
        assert_eq!(world.call(route, NODE, body).await.status, 403, "{route}");
    }
    assert_eq!(world.call("POST /api/v1/workers/w1/heartbeat", ADMIN, beat).await.status, 403);
    assert_eq!(one.beat_as(json!({"queueRatio": "x"})).await.body["field"], "queueRatio");
}

/// S7, S11: everything else is for operators; only the status is for workers too.
#[tokio::test(flavor = "multi_thread")]
async fn the_rest_is_for_operators() {
    let world = World::new().await;
    let worker = world.register("w1").await;
    for path in ["workers", "workers/w1", "sessions", "sessions/s1", "chunks", "quarantine", "checkpoint"] {
        let route = format!("GET /api/v1/{path}");
        assert_eq!(worker.call(&route, Value::Null).await.status, 403, "{path}");
        assert_eq!(world.call(&route, ENROL, Value::Null).await.status, 403, "{path}");
        assert_eq!(world.call(&route, "wrong", Value::Null).await.status, 401, "{path}");
        let own = Request::get(format!("/api/v1/{path}")).header("host", "localhost");
        let own = own.header("x-worker-token", &worker.token).body(Body::empty()).unwrap();
        assert_eq!(world.send(own).await.status, 403, "{path}");
    }
    assert_eq!(worker.call("GET /api/v1/status", Value::Null).await.status, 200);
    assert_eq!(world.get("workers/nobody").await.status, 404);
}

/// S3: the task as a worker gets it, letter by letter where the client wrote it, with a directory that is there.
#[tokio::test(flavor = "multi_thread")]
async fn golden_task() {
    let world = World::new().await;
    let body = r#"{"sessionId":"night","totalFrames":250,"framesPerTask":100,"scenario":{"fps": 25, "x":1.50},
        "cameras":["left"],"own":1}"#;
    let submitted = Request::post("/api/v1/sessions").header("host", "localhost");
    let submitted =
        submitted.header("authorization", format!("Bearer {ADMIN}")).body(Body::from(body)).unwrap();
    assert_eq!(world.send(submitted).await.status, 201);
    let worker = world.register("w1").await;
    let pull = request("GET /api/v1/workers/w1/tasks?wait_ms=20000", &worker.token, Value::Null);
    let bytes = axum::body::to_bytes(world.respond(pull).await.into_body(), 100_000).await.unwrap();
    assert!(String::from_utf8(bytes.to_vec()).unwrap().contains(r#""scenario":{"fps": 25, "x":1.50}"#));
    let task: Value = serde_json::from_slice::<Value>(&bytes).unwrap()["task"].take();
    let directory = world.path("session_night/chunks/1").canonicalize().unwrap();
    let end = task["frameRange"][1].as_u64().unwrap();
    assert!((1..=100).contains(&end));
    assert_eq!(
        task,
        json!({"taskId": "night.00000000", "sessionId": "night", "scenario": {"fps": 25, "x": 1.5},
            "cameras": ["left"], "frameRange": [0, end], "globalIdChunk": {"chunkId": 1, "range": [1, 1_000_000]},
            "attempt": 1, "epoch": 1, "outputDirectory": directory.to_str().unwrap(), "replay": false})
    );
}

/// S3: a worker whose slots are full and asks gets the same task again; without work it gets null, or waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_asked_for_again() {
    let world = World::new().await;
    let worker = world.register("w1").await;
    assert_eq!(worker.pull().await.body, json!({"task": null}));
    let waiting = worker.call("GET /api/v1/workers/w1/tasks?wait_ms=30000", Value::Null);
    let (answer, ()) = tokio::join!(waiting, world.session(100, 100));
    assert_eq!(worker.task().await, answer.body["task"]);
    assert_eq!(worker.call("GET /api/v1/workers/w1/tasks?wait_ms=x", Value::Null).await.status, 422);
    assert_eq!(worker.call("HEAD /api/v1/workers/w1/tasks", Value::Null).await.status, 405);
    let confirmed = worker.progress(&answer.body["task"], json!({})).await;
    assert_eq!((confirmed.status, &confirmed.body), (200, &json!({"ok": true})));
    assert_eq!(worker.pull().await.body, json!({"task": null}));
}

/// I9: a waiting request keeps its place until it is answered. Eight may wait for each one that may be under way; the next
/// is refused.
#[tokio::test(flavor = "multi_thread")]
async fn too_many_waiting_workers_are_refused() {
    let world = World::with(HttpSettings { requests_max: 1, ..HttpSettings::default() }).await;
    // All are registered before the first one waits: only one request may be under way.
    let mut workers = Vec::new();
    for n in 1..=9 {
        let id = format!("w{n}");
        let token = world.register(&id).await.token;
        workers.push((id, token));
    }
    let mut waiting = tokio::task::JoinSet::new();
    for (id, token) in workers {
        let app = world.app.clone();
        // A request that finds another one under way asks again.
        waiting.spawn(async move {
            loop {
                let pull =
                    request(&format!("GET /api/v1/workers/{id}/tasks?wait_ms=30000"), &token, Value::Null);
                let response = app.clone().oneshot(pull).await.unwrap();
                let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
                if !body.windows(9).any(|text| text == b"under way") {
                    return String::from_utf8(body.to_vec()).unwrap();
                }
            }
        });
    }
    let refused = tokio::time::timeout(Duration::from_secs(60), waiting.join_next()).await;
    let refused = refused.expect("one is refused").unwrap().unwrap();
    assert!(refused.contains("too many requests wait for work"), "{refused}");
}

/// S3: tasks are pushed to the address of the registration or a listed host; any other endpoint is 422.
#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_endpoint_is_refused() {
    let world = World::new().await;
    let register = |endpoint: &str| {
        let body = json!({"workerId": "w1", "endpoint": endpoint});
        world.call("POST /api/v1/workers/register", ENROL, body)
    };
    let foreign = register("http://169.254.169.254/").await;
    assert_eq!((foreign.status, &foreign.body["field"]), (422, &json!("endpoint")));
    for own in ["http://10.0.0.7:9000", "https://gpu-7.lab:9000/base"] {
        assert_eq!(register(own).await.status, 201, "{own}");
    }
    assert_eq!(world.get("workers/w1").await.body["endpoint"], "https://gpu-7.lab:9000/base");
}

/// S4: progress is taken note of: frames, the deepest queue, and lines for the log, newest first.
#[tokio::test(flavor = "multi_thread")]
async fn progress_is_reported() {
    let world = World::new().await;
    world.session(100, 100).await;
    let worker = world.register("w1").await;
    let task = worker.task().await;
    let more = json!({"taskId": null, "processedFrames": 40, "maxQueueRatio": 0.75, "diagnostics": ["one", {"two": 2}]});
    assert_eq!(worker.progress(&task, more).await.status, 200);
    let session = world.get("sessions/s1").await.body;
    assert_eq!(session["coverage"][0]["processedFrames"], 40);
    assert_eq!(session["coverage"][0]["status"], "running");
    let lines = world.get("sessions/s1/diagnostics").await.body;
    let texts: Vec<&str> =
        lines["diagnostics"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!((texts.len(), texts.contains(&"one"), texts.contains(&r#"{"two":2}"#)), (2, true, true));
    assert_eq!(lines["diagnostics"][0]["taskId"], task["taskId"]);
    assert_eq!(world.get("status").await.body["queueDepthSummary"], 0.75);
    for (key, wrong, status) in [
        ("sessionId", json!("unknown"), 404),
        ("taskId", json!("s1.00000099"), 409),
        ("taskId", json!("what"), 404),
        ("processedFrames", json!(-1), 422),
    ] {
        let answer = worker.progress(&task, json!({key: wrong})).await;
        assert_eq!(answer.status, status, "{key}: {answer:?}");
    }
}

/// S6: a removed worker's tasks go back at once; it is a zombie while it calls and gets no work; a worker may leave itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_removed_worker_is_a_zombie() {
    let world = World::new().await;
    world.session(100, 100).await;
    let gone = world.register("w1").await;
    let task = gone.task().await;
    let removed = world.call("DELETE /api/v1/workers/w1", ADMIN, Value::Null).await;
    assert_eq!((removed.status, &removed.body), (200, &json!({"workerId": "w1", "state": "Removed"})));
    assert_eq!(gone.beat(0.1).await["state"], "zombie");
    assert_eq!(gone.pull().await.status, 410);
    assert_eq!(gone.progress(&task, json!({})).await.status, 410);
    assert_eq!(world.get("status").await.body["workers"]["zombie"], 1);
    assert_eq!(world.get("workers/w1").await.body["state"], "zombie");
    let metrics = world.metrics().await;
    assert!(metrics.contains("muster_sim_workers{state=\"zombie\"} 1\n"), "{metrics}");
    world.pass(4000).await;
    assert_eq!(world.get("status").await.body["workers"]["zombie"], 0);
    let other = world.register("w2").await;
    assert_eq!(other.task().await["taskId"], task["taskId"]);
    assert_eq!(other.call("DELETE /api/v1/workers/w2", Value::Null).await.status, 200);
    assert_eq!(world.call("DELETE /api/v1/workers/nobody", ADMIN, Value::Null).await.status, 404);
}

/// S19: after a start workers are told to rebind, and say what they are at; tasks that ran are done anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_rebinds() {
    let world = World::new().await;
    world.session(100, 100).await;
    let (token, task) = {
        let worker = world.register("w1").await.healthy().await;
        let task = worker.task().await;
        assert_eq!(worker.progress(&task, json!({})).await.status, 200);
        (worker.token.clone(), task)
    };
    let world = world.reborn().await;
    let beat = world.call("POST /api/v1/workers/w1/heartbeat", &token, json!({"queueRatio": 0.1})).await;
    assert_eq!((beat.status, &beat.body["epoch"]), (200, &json!(2)));
    assert!(beat.body["commands"].as_array().unwrap().contains(&json!("rebind")), "{beat:?}");
    let rebind =
        json!({"workerId": "w1", "epoch": 2, "currentTask": task, "lastFrame": 7, "state": "Healthy"});
    let answer = world.call("POST /api/v1/workers/rebind", &token, rebind).await;
    assert_eq!((answer.status, &answer.body["epoch"]), (200, &json!(2)), "{answer:?}");
    let later = json!({"workerId": "w1", "epoch": 3, "currentTask": null});
    assert_eq!(world.call("POST /api/v1/workers/rebind", &token, later).await.status, 409);
    let bad = json!({"workerId": "w1", "currentTask": {"taskId": "s1.00000000", "attempt": 1}});
    let answer = world.call("POST /api/v1/workers/rebind", &token, bad).await;
    assert_eq!((answer.status, &answer.body["field"]), (422, &json!("currentTask.globalIdChunk")));
}
