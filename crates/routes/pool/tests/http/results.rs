//! Results: taken once, proven, counted (P7, P8, P9, P11, P17).

use crate::world::{World, request};
use axum::body::Body;
use muster_proof::{Receipt, canonical, sha256_hex};
use muster_store::Failure;
use serde_json::{Value, json};

/// P8: a byte-identical resubmission is told by a header, also in another life of the server; anything else is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_is_recognised_by_its_bytes() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    world.job(&client, json!({"payload": 1})).await;
    let body = worker.result(&worker.assignment().await, json!({"output": {"x": 1}})).to_string();
    assert_eq!(world.call_with("POST /jobs/submit", &owner.token, &body).await.status, 200);
    let world = world.reborn().await;
    for (body, identical) in [(body.clone(), true), (format!("{body} "), false)] {
        let answer = world.call_with("POST /jobs/submit", &owner.token, &body).await;
        assert_eq!(answer.told(), (409, "Assignment already submitted"));
        assert_eq!(answer.headers.get("Muster-Identical").is_some_and(|value| value == "true"), identical);
    }
}

/// P8: an assignment is its worker's own: another worker of the same owner finds nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_is_its_workers_own() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let (one, two) = (world.worker(&owner, "one").await, world.worker(&owner, "two").await);
    world.job(&client, json!({"payload": 1})).await;
    let assignment = one.assignment().await;
    assert_eq!(two.submit(&assignment, json!({})).await.told(), (404, "Assignment not found"));
    let stranger = world.owner("x").await;
    let stolen = world.call("POST /jobs/submit", &stranger.token, one.result(&assignment, json!({}))).await;
    assert_eq!(stolen.told(), (404, "Worker not found"));
}

/// P8: a non-empty error_message fails the assignment; with attempts left the job is queued again, else it failed.
#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_tried_again() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    let job = world.job(&client, json!({"payload": 1, "max_attempts": 2})).await;
    let path = format!("/jobs/{job}");
    let failed = worker.submit(&worker.assignment().await, json!({"error_message": "no disk"})).await;
    assert_eq!((failed.status, &failed.body["status"]), (200, &json!("failed")));
    assert_eq!(world.get(&path, &client).await.body["status"], "queued");
    worker.submit(&worker.assignment().await, json!({"error_message": "no disk again"})).await;
    let ended = world.get(&path, &client).await.body;
    assert_eq!((&ended["status"], &ended["error_message"]), (&json!("failed"), &json!("no disk again")));
    let fine = world.job(&client, json!({"payload": 2})).await;
    let answer = worker.submit(&worker.assignment().await, json!({"error_message": ""})).await;
    assert_eq!(answer.body["status"], "completed");
    assert_eq!(world.get(&format!("/jobs/{fine}"), &client).await.body["status"], "completed");
}

/// P11: only a job that asks for it has its hash checked, against the canonical form.
#[tokio::test(flavor = "multi_thread")]
async fn a_hash_is_checked_where_that_is_asked_for() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    let output = json!({"b": 1.5, "a": "\u{e4}"});
    let hash = sha256_hex(&canonical(output.to_string().as_bytes()).unwrap());
    world.job(&client, json!({"payload": 1})).await;
    let unchecked =
        worker.submit(&worker.assignment().await, json!({"output": output, "output_hash": "wrong"})).await;
    assert_eq!(unchecked.status, 200);
    world.job(&client, json!({"payload": 2, "verify_output_hash": true})).await;
    let assignment = worker.assignment().await;
    let wrong = worker.submit(&assignment, json!({"output": output, "output_hash": "wrong"})).await;
    assert_eq!(wrong.told(), (400, "Output hash mismatch"));
    let right = worker.submit(&assignment, json!({"output": output, "output_hash": hash})).await;
    assert_eq!(right.status, 200);
    world.job(&client, json!({"payload": 3, "verify_output_hash": true})).await;
    let bare =
        worker.submit(&worker.assignment().await, json!({"output_hash": "nothing to compare with"})).await;
    assert_eq!(bare.status, 200);
}

/// P17: a completed result has a receipt that holds offline; it goes with the key that signed, not with the newest.
#[tokio::test(flavor = "multi_thread")]
async fn a_completed_result_has_a_receipt() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    let job = world.job(&client, json!({"payload": 1})).await;
    let path = format!("/jobs/{job}/receipt");
    assert_eq!(world.get(&path, &client).await.told(), (404, "Receipt not found"));
    let assignment = worker.assignment().await;
    worker.submit(&assignment, json!({"output_hash": "h"})).await;
    worker.call("PUT /workers/1/key", json!({"public_key": "another"})).await;
    let answer = world.get(&path, &client).await;
    let receipt = Receipt::parse(answer.text.as_bytes()).unwrap();
    receipt.check(Some(&worker.pair.public_text())).unwrap();
    assert_eq!((receipt.job_id, receipt.worker_id, receipt.output_hash.as_deref()), (job, 1, Some("h")));
    assert_eq!(receipt.finished_at, "2026-02-08T12:30:45.123000Z");
    let id = assignment["assignment_id"].as_u64().unwrap();
    assert_eq!(world.get(&format!("{path}?assignment_id={id}"), &client).await.text, answer.text);
    assert_eq!(
        world.get(&format!("{path}?assignment_id=66"), &client).await.told(),
        (404, "Receipt not found")
    );
    let stranger = world.client("x").await;
    assert_eq!(world.get(&path, &stranger).await.told(), (404, "Job not found"));
}

/// P8: when the term ends under a result, nobody knows whether it was taken.
#[tokio::test(flavor = "multi_thread")]
async fn a_term_that_ends_is_a_conflict() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    world.job(&client, json!({"payload": 1})).await;
    let assignment = worker.assignment().await;
    let conflict = (409, "Concurrent submission conflict");
    world.store.fail_next(Failure::Before);
    assert_eq!(worker.submit(&assignment, json!({})).await.told(), conflict);
    world.next_term().await;
    let item = worker.result(&assignment, json!({}));
    let work = json!({"worker_id": 1, "submit": [item], "max": 1});
    world.store.fail_next(Failure::After);
    assert_eq!(worker.call("POST /jobs/work", work.clone()).await.told(), conflict);
    world.next_term().await;
    let again = worker.call("POST /jobs/work", work.clone()).await;
    assert_eq!(again.body["submitted"][0]["identical"], true, "it had been taken");
    world.coordinator.stop().await;
    // A stopped server checks no result any more: that is no conflict.
    assert_eq!(worker.submit(&assignment, json!({})).await.status, 503);
    assert_eq!(worker.call("POST /jobs/work", work).await.status, 503);
    assert_eq!(worker.poll().await.status, 503);
}

/// P7, N6: a body that is too long is refused before it is read, one of another type too.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_has_its_limits() {
    let world = World::new().await;
    let owner = world.owner("o").await;
    let long = format!("{{\"worker_id\":1,\"x\":\"{}\"}}", "x".repeat(1 << 20));
    assert_eq!(world.call_with("POST /jobs/submit", &owner.token, &long).await.status, 413);
    let form = request("POST /jobs/submit", &owner.token).header("content-type", "text/plain");
    assert_eq!(world.send(form.body(Body::from("{}")).unwrap()).await.status, 415);
    let large = Value::String("x".repeat(100_000));
    let worker = world.worker(&owner, "w").await;
    let client = world.client("c").await;
    world.job(&client, json!({"payload": large})).await;
    let assignment = worker.assignment().await;
    assert_eq!(assignment["job"], large);
    assert_eq!(worker.submit(&assignment, json!({"output": {"x": large}})).await.status, 200);
}

/// P8, P9: every published vector of a signature is judged as it says.
#[tokio::test(flavor = "multi_thread")]
async fn vectors_are_judged_as_published() {
    let world = World::new().await;
    let owner = world.owner("o").await;
    let vectors: Value =
        serde_json::from_str(include_str!("../../../../../docs/vectors/signatures.json")).unwrap();
    for (kind, expected) in [("valid", None), ("refused", Some("detail"))] {
        let vectors = vectors[kind].as_array().unwrap();
        assert!(!vectors.is_empty());
        for (n, vector) in vectors.iter().enumerate() {
            let key = json!({"name": format!("{kind}-{n}"), "public_key": vector["public_key"]});
            let registered = world.call("POST /workers/register", &owner.token, key).await;
            let body = json!({"worker_id": registered.body["id"], "assignment_id": vector["assignment_id"],
                "nonce": vector["nonce"], "output_hash": vector["output_hash"], "signature": vector["signature"]});
            let answer = world.call("POST /jobs/submit", &owner.token, body).await;
            let told = match expected {
                // A valid result goes on to the next check, which fails because no worker has these assignments.
                None => (404, "Assignment not found"),
                // An empty key is none before it is one of the wrong length (P3).
                Some(_) if vector["public_key"] == "" => (400, "Worker public key is not configured"),
                Some(field) => (400, vector[field].as_str().unwrap()),
            };
            assert_eq!(answer.told(), told, "{vector}");
        }
    }
}
