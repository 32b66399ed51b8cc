//! Leases: asked for, renewed, lost (P5, P6, P14).

use crate::world::World;
use serde_json::{Value, json};

/// P6: the same assignment again until it is started; started ones are told to whoever resumes.
#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_is_given_until_it_is_started() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 2}})).await;
    for n in 1..=3 {
        world.job(&client, json!({"payload": n})).await;
    }
    let resume = json!({"worker_id": worker.id, "resume": true});
    assert_eq!(worker.call("POST /jobs/poll", resume.clone()).await.body, json!({"assignments": []}));
    let first = worker.assignment().await;
    assert_eq!(worker.assignment().await, first);
    let start = json!({"worker_id": worker.id, "start": true});
    assert_eq!(worker.call("POST /jobs/poll", start.clone()).await.body, first);
    let second = worker.call("POST /jobs/poll", start).await.body;
    assert_eq!((&first["job"], &second["job"]), (&json!(1), &json!(2)));
    assert_eq!(worker.poll().await.told(), (404, "No assignment available"));
    let started = worker.call("POST /jobs/poll", resume).await.body;
    assert_eq!(started, json!({"assignments": [first, second]}));
}

/// P5: every attempt is a new assignment with a new nonce; what comes for the old one is too late.
#[tokio::test(flavor = "multi_thread")]
async fn an_expired_lease_is_given_anew() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let (lost, other) = (world.worker(&owner, "lost").await, world.worker(&owner, "other").await);
    let job = world.job(&client, json!({"payload": 1})).await;
    let old = lost.assignment().await;
    world.pass(901).await;
    let new = other.assignment().await;
    assert_eq!(new["assignment_id"], old["assignment_id"].as_u64().unwrap() + 1);
    assert_ne!(new["nonce"], old["nonce"]);
    let late = lost.submit(&old, json!({})).await;
    assert_eq!(late.told(), (409, "Assignment is not in a submittable state"));
    assert_eq!(other.submit(&new, json!({})).await.status, 200);
    assert_eq!(world.get(&format!("/jobs/{job}"), &client).await.body["status"], "completed");
}

/// P5: heartbeats renew a lease; the job's own limit counts from the grant and is not renewed.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_is_renewed_and_a_timeout_is_not() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 2}})).await;
    world.job(&client, json!({"payload": "renewed"})).await;
    let renewed = worker.call("POST /jobs/poll", json!({"worker_id": 1, "start": true})).await.body;
    world.job(&client, json!({"payload": "limited", "timeout_s": 1000.5, "max_attempts": 1})).await;
    let limited = worker.assignment().await;
    for _ in 0..60 {
        world.pass(20).await;
        worker.beat().await;
    }
    assert_eq!(
        worker.submit(&limited, json!({})).await.told(),
        (409, "Assignment is not in a submittable state")
    );
    assert_eq!(worker.submit(&renewed, json!({})).await.status, 200);
    assert_eq!(world.get("/jobs/2", &client).await.body["status"], "failed");
}

/// P14: a job lands on a waiting poll at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_lands_on_a_waiting_poll() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    worker.beat().await;
    let (polled, job) = tokio::join!(
        worker.call("POST /jobs/poll", json!({"worker_id": 1, "wait_ms": 30000})),
        world.job(&client, json!({"payload": {"n": 1}})),
    );
    assert_eq!((polled.status, &polled.body["job"]), (200, &json!({"n": 1})));
    assert_eq!(polled.body["assignment_id"], job * 64 + 1);
}

/// P14: priority first; then clients take turns; within a client the oldest.
#[tokio::test(flavor = "multi_thread")]
async fn clients_take_turns() {
    let world = World::new().await;
    let owner = world.owner("o").await;
    let (ana, bob) = (world.client("ana").await, world.client("bob").await);
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 9}})).await;
    for payload in ["a1", "a2", "a3"] {
        world.job(&ana, json!({"payload": payload})).await;
    }
    world.job(&bob, json!({"payload": "b1"})).await;
    world.job(&bob, json!({"payload": "b0", "priority": 5})).await;
    let work = worker.call("POST /jobs/work", json!({"worker_id": 1, "submit": [], "max": 9})).await;
    let order: Vec<&Value> =
        work.body["assignments"].as_array().unwrap().iter().map(|one| &one["job"]).collect();
    assert_eq!(order[0], "b0");
    let place = |payload: &str| order.iter().position(|job| *job == payload).unwrap();
    assert!(place("b1") <= 2 && place("a1") < place("a2") && place("a2") < place("a3"), "{order:?}");
}

/// P14: region and requirements decide who may have a job.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_to_whoever_fits() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let specs = json!({"vram": 16, "gpu": "A100"});
    let there = world.worker_as(&owner, json!({"name": "t", "region": "eu", "specs_json": specs})).await;
    let here = world.worker_as(&owner, json!({"name": "h", "region": "us"})).await;
    for (job, fits) in [
        (json!({"payload": 1, "region": "eu"}), true),
        (json!({"payload": 2, "requires": {"vram": 16, "gpu": "A100"}}), true),
        (json!({"payload": 3, "requires": {"vram": 16.5}}), false),
        (json!({"payload": 4, "requires": {"gpu": "a100"}}), false),
        (json!({"payload": 5, "region": "mars"}), false),
    ] {
        let id = world.job(&client, job.clone()).await;
        assert_eq!(here.poll().await.told(), (404, "No assignment available"), "{job}");
        let polled = there.poll().await;
        assert_eq!(polled.status, if fits { 200 } else { 404 }, "{job}");
        if fits {
            assert_eq!(there.submit(&polled.body, json!({})).await.status, 200);
        } else {
            world.call(&format!("DELETE /jobs/{id}"), &client.token, Value::Null).await;
        }
    }
}

/// P6: what was started is told as a whole, however much it is, also payloads that are in no memory.
#[tokio::test(flavor = "multi_thread")]
async fn much_that_was_started_is_told() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 100}})).await;
    let jobs: Vec<Value> =
        (0..100).map(|n| json!({"payload": {"n": n, "filler": "x".repeat(n * 100)}})).collect();
    world.call("POST /jobs/batch", &client.token, json!({"jobs": jobs})).await;
    let body = json!({"worker_id": 1, "submit": [], "max": 100, "start": true});
    let given = worker.call("POST /jobs/work", body).await.body["assignments"].clone();
    assert_eq!(given.as_array().unwrap().len(), 100);
    let world = world.reborn().await;
    let resumed = world.call("POST /jobs/poll", &owner.token, json!({"worker_id": 1, "resume": true})).await;
    assert_eq!(resumed.body, json!({"assignments": given}));
    assert_eq!(resumed.headers["content-type"], "application/json");
}
