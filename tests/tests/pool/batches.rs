//! Many at once: P18, P19.

use crate::{Pool, hand_in, plain, told};
use muster_tests::{FakePoolWorker, Request};
use serde_json::{Value, json};

/// P18: a batch is taken whole or not at all, up to a thousand, and recognised by its key over a restart.
#[test]
fn a_batch_is_all_or_none() {
    let mut pool = Pool::start();
    let batch = |count: u64| json!({"jobs": (0..count).map(plain).collect::<Vec<_>>()});
    let send = |pool: &Pool, body: &Value| {
        pool.client.send(Request::new("POST", "/jobs/batch").header("Idempotency-Key", "b").json(body))
    };
    let mut spoilt = batch(5);
    spoilt["jobs"][3]["priority"] = json!(101);
    assert_eq!(pool.client.post("/jobs/batch", &spoilt).status, 422);
    assert_eq!(pool.client.post("/jobs/batch", &batch(1001)).status, 422);
    assert_eq!(pool.client.get("/jobs").expect(200)["jobs"], json!([]), "none of them");
    let first = send(&pool, &batch(1000)).expect(201);
    let jobs = first["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 1000);
    let ids: Vec<u64> = jobs.iter().map(|job| job["id"].as_u64().unwrap()).collect();
    assert!(ids.is_sorted_by(|one, next| one < next) && jobs.iter().all(|job| job["status"] == "queued"));
    pool.kill9_and_restart();
    assert_eq!(send(&pool, &batch(1000)).expect(201), first);
    assert_eq!(send(&pool, &batch(999)).status, 409);
    assert_eq!(pool.job(ids[999])["payload"], json!({"n": 999}));
    assert_eq!(pool.server.database().count("SELECT count(*) FROM pool_jobs"), 1000);
}

/// P19: what one call acknowledged is there after kill -9: results taken, leases held.
#[test]
fn one_call_is_one_commit() {
    let mut pool = Pool::start();
    let ids = [hand_in(&pool.client, &plain(1)), hand_in(&pool.client, &plain(2))];
    let result = pool.worker.result(&pool.worker.poll(), &json!({"ok": true}));
    let body = json!({"worker_id": pool.worker.id, "submit": [result], "max": 1});
    let answer = pool.worker.owner().post("/jobs/work", &body).expect(200);
    pool.kill9_and_restart();
    assert_eq!(pool.job(ids[0])["status"], "completed");
    assert_eq!(json!([pool.worker.poll()]), answer["assignments"]);
    let again = pool.worker.owner().post(
        "/jobs/work",
        &json!({"worker_id": pool.worker.id, "submit": [result],
        "max": 0}),
    );
    let again = again.expect(200);
    assert_eq!(again["submitted"][0]["error"], "Assignment already submitted");
    assert_eq!(again["submitted"][0]["identical"], true, "{again}");
}
