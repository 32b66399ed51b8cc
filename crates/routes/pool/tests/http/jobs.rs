//! Jobs as clients see them (P13, P15, P18).

use crate::world::{ADMIN, Answer, World, request};
use axum::body::Body;
use muster_model::Role;
use serde_json::{Value, json};

async fn create(world: &World, token: &str, key: &str, body: &str) -> Answer {
    let route = if body.contains("\"jobs\"") { "POST /jobs/batch" } else { "POST /jobs" };
    let request = request(route, token).header("Idempotency-Key", key);
    world.send(request.body(Body::from(body.to_owned())).unwrap()).await
}

/// P13: a job from its submission to its result, with exactly the contract's fields.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_from_beginning_to_end() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let body = r#"{"payload": {"prompt": "hello", "t": 0.10}, "priority": 7, "region": "eu"}"#;
    let created = world.call_with("POST /jobs", &client.token, body).await;
    let expected = r#"{"id":1,"status":"queued","payload":{"prompt": "hello", "t": 0.10},"priority":7,"region":"eu","output":null,"output_hash":null,"error_message":null,"artifact_uri":null,"metrics_json":null,"created_at":"2026-02-08T12:30:45.123000Z","finished_at":null}"#;
    assert_eq!((created.status, &*created.text), (201, expected));
    let mut waiting = world.get("/jobs/1", &client).await.body;
    let why = waiting.as_object_mut().unwrap().remove("explanation").unwrap();
    assert!(why.as_str().unwrap().contains("no workers"), "{why}");
    assert_eq!(waiting, created.body);
    let worker = world.worker_as(&owner, json!({"name": "w", "region": "eu"})).await;
    let assignment = worker.assignment().await;
    assert_eq!(world.get("/jobs/1", &client).await.body["status"], "running");
    world.pass(1).await;
    let result = json!({"output": {"ok": true}, "output_hash": "h", "artifact_uri": "file:///etc/passwd",
        "metrics_json": {"ms": 12}});
    assert_eq!(worker.submit(&assignment, result).await.status, 200);
    let ended = world.get("/jobs/1", &client).await;
    let expected = r#"{"id":1,"status":"completed","payload":{"prompt": "hello", "t": 0.10},"priority":7,"region":"eu","output":{"ok":true},"output_hash":"h","error_message":null,"artifact_uri":"file:///etc/passwd","metrics_json":{"ms":12},"created_at":"2026-02-08T12:30:45.123000Z","finished_at":"2026-02-08T12:30:46.123000Z"}"#;
    assert_eq!(ended.text, expected);
}

/// P13: a client sees their own jobs, an ADMIN all; somebody else's is not found.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_sees_their_own() {
    let world = World::new().await;
    let (ana, bob) = (world.client("ana").await, world.client("bob").await);
    let admin = world.user("boss", &[Role::Admin]).await;
    world.job(&ana, json!({"payload": 1})).await;
    world.job(&bob, json!({"payload": 2})).await;
    let ids = async |token: &str| {
        let jobs = world.call("GET /jobs", token, Value::Null).await.body["jobs"].clone();
        jobs.as_array().unwrap().iter().map(|job| job["id"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&ana.token).await, [1]);
    assert_eq!(ids(&bob.token).await, [2]);
    assert_eq!(ids(&admin.token).await, [2, 1]);
    assert_eq!(ids(ADMIN).await, [2, 1]);
    for route in
        ["GET /jobs/2", "DELETE /jobs/2", "GET /jobs/2/receipt", "GET /jobs/2/explain", "POST /jobs/2/retry"]
    {
        assert_eq!(
            world.call(route, &ana.token, Value::Null).await.told(),
            (404, "Job not found"),
            "{route}"
        );
        assert_ne!(world.call(route, &admin.token, Value::Null).await.told().1, "Job not found", "{route}");
    }
}

/// P13: lists go page by page and by status.
#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_listed_in_pages() {
    let world = World::new().await;
    let client = world.client("c").await;
    let jobs: Vec<Value> = (1..=25).map(|n| json!({"payload": n})).collect();
    world.call("POST /jobs/batch", &client.token, json!({"jobs": jobs})).await;
    world.call("DELETE /jobs/3", &client.token, Value::Null).await;
    let mut ids = Vec::new();
    let mut path = "/jobs?limit=12".to_owned();
    loop {
        let page = world.get(&path, &client).await.body;
        let jobs = page["jobs"].as_array().unwrap();
        assert!(jobs.len() <= 12);
        ids.extend(jobs.iter().map(|job| job["id"].as_u64().unwrap()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/jobs?limit=12&after={next}");
    }
    assert_eq!(ids, (1..=25).rev().collect::<Vec<_>>());
    let cancelled = world.get("/jobs?status=cancelled", &client).await.body;
    assert_eq!(cancelled["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(cancelled["jobs"][0]["id"], 3);
}

/// P13: a page of large jobs ends early, and goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_has_a_weight() {
    let world = World::new().await;
    let client = world.client("c").await;
    for _ in 0..21 {
        world.job(&client, json!({"payload": "x".repeat(900_000)})).await;
    }
    let page = world.get("/jobs?limit=1000", &client).await.body;
    let count = page["jobs"].as_array().unwrap().len();
    assert!(count < 21 && page["next"].is_string(), "{count}");
    let rest = world.get(&format!("/jobs?after={}", page["next"].as_str().unwrap()), &client).await.body;
    assert!(!rest["jobs"].as_array().unwrap().is_empty());
}

/// P13: a replayed key answers 201 with the first body, byte for byte, whatever has come of the job; another body is 409;
/// keys are the user's own; all that also in another life.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_is_answered_as_the_first_was() {
    let world = World::new().await;
    let (ana, bob) = (world.client("ana").await, world.client("bob").await);
    let body = r#"{"payload": {"n": 1.0}, "priority": 3}"#;
    let first = create(&world, &ana.token, "order-7", body).await;
    assert_eq!(first.status, 201);
    world.pass(5).await;
    world.call("DELETE /jobs/1", &ana.token, Value::Null).await;
    let world = world.reborn().await;
    for again in [body, r#"{"priority":3,"payload":{"n":1.0}}"#] {
        let replay = create(&world, &ana.token, "order-7", again).await;
        assert_eq!((replay.status, &replay.text), (201, &first.text));
    }
    let other = create(&world, &ana.token, "order-7", r#"{"payload": {"n": 2}}"#).await;
    assert_eq!(other.status, 409);
    assert_eq!(create(&world, &bob.token, "order-7", body).await.body["id"], 2);
    assert_eq!(create(&world, &ana.token, "", body).await.status, 422);
}

/// P18: all or none, in order; a replay is answered alike; a key of one route is not one of the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_all_or_none() {
    let world = World::new().await;
    let client = world.client("c").await;
    let body = r#"{"jobs": [{"payload": 1}, {"payload": 2, "priority": 9}]}"#;
    let taken = create(&world, &client.token, "k", body).await;
    let expected = r#"{"jobs":[{"id":1,"status":"queued"},{"id":2,"status":"queued"}]}"#;
    assert_eq!((taken.status, &*taken.text), (201, expected));
    assert_eq!(create(&world, &client.token, "k", body).await.text, expected);
    assert_eq!(create(&world, &client.token, "k", r#"{"payload": 1}"#).await.status, 409);
    let wrong = world.call("POST /jobs/batch", &client.token, json!({"jobs": [{"payload": 1}, {}]})).await;
    assert_eq!(wrong.status, 422);
    assert_eq!(world.get("/jobs", &client).await.body["jobs"].as_array().unwrap().len(), 2);
}

/// P13: a job can be ended once; what ended is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_can_be_cancelled() {
    let world = World::new().await;
    let client = world.client("c").await;
    let job = world.job(&client, json!({"payload": 1})).await;
    let path = format!("DELETE /jobs/{job}");
    let cancelled = world.call(&path, &client.token, Value::Null).await;
    assert_eq!((cancelled.status, &cancelled.body["status"]), (200, &json!("cancelled")));
    assert_eq!(cancelled.body["finished_at"], "2026-02-08T12:30:45.123000Z");
    assert_eq!(world.call(&path, &client.token, Value::Null).await.told(), (409, "Job already finished"));
}

/// P13: whoever waits for a job is answered when it ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_can_be_waited_for() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    let job = world.job(&client, json!({"payload": 1})).await;
    let assignment = worker.assignment().await;
    let path = format!("/jobs/{job}?wait_ms=30000");
    let (seen, _) =
        tokio::join!(world.get(&path, &client), worker.submit(&assignment, json!({"output": {"n": 1}})));
    assert_eq!((&seen.body["status"], &seen.body["output"]), (&json!("completed"), &json!({"n": 1})));
    assert_eq!(world.get(&path, &client).await.body["status"], "completed");
}

/// P14, P15: why a job waits, and what to do about it.
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_job_is_explained() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let job = world.job(&client, json!({"payload": 1, "region": "eu", "redundancy": 2})).await;
    let cause = async || {
        let explained = world.get(&format!("/jobs/{job}/explain"), &client).await.body;
        assert_eq!(explained["job_id"], job);
        assert!(explained["explanation"].as_str().unwrap().ends_with('.'));
        explained["cause"].clone()
    };
    assert_eq!(cause().await, "no_workers");
    world.worker(&owner, "elsewhere").await;
    assert_eq!(cause().await, "no_worker_in_region");
    let worker = world.worker_as(&owner, json!({"name": "w", "region": "eu"})).await;
    assert_eq!(cause().await, "workers_away");
    worker.beat().await;
    assert_eq!(cause().await, "waiting_for_poll");
    worker.assignment().await;
    assert_eq!(cause().await, "too_few_owners");
    world.call(&format!("DELETE /jobs/{job}"), &client.token, Value::Null).await;
    assert_eq!(cause().await, "ended");
}
