//! Every request, answer and error of the source document, section by section.

use crate::world::World;
use axum::body::Body;
use muster_contract_pool::golden;
use muster_model::Role;
use muster_proof::signed_bytes;
use serde_json::{Value, json};

/// P3: `POST /workers/register`, byte for byte; the second of the same name is refused, whosever it is.
#[tokio::test(flavor = "multi_thread")]
async fn register() {
    let world = World::new().await;
    for n in 1..10 {
        world.client(&format!("user-{n}")).await;
    }
    let owner = world.owner("owner-a").await;
    let answer = world.call_with("POST /workers/register", &owner.token, golden::REGISTER_REQUEST).await;
    assert_eq!((answer.status, &*answer.text), (201, golden::REGISTERED));
    let other = world.owner("owner-b").await;
    for token in [&owner.token, &other.token] {
        let again = world.call_with("POST /workers/register", token, golden::REGISTER_REQUEST).await;
        assert_eq!(again.told(), (409, "Worker name already exists"));
        assert_eq!(again.headers["content-type"], "application/problem+json");
    }
}

/// P4, P12: `GET /workers` lists only the caller's own, with the document's fields and values; `last_heartbeat_at` is no
/// longer among them.
#[tokio::test(flavor = "multi_thread")]
async fn list_workers() {
    let world = World::new().await;
    let (owner, other) = (world.owner("a").await, world.owner("b").await);
    let body = |name: &str| json!({"name": name});
    world.call("POST /workers/register", &other.token, body("worker-other")).await;
    world.call("POST /workers/register", &owner.token, body("worker-owned")).await;
    let answer = world.get("/workers", &owner).await;
    assert_eq!(answer.status, 200);
    let mut listed = answer.body["workers"].as_array().unwrap().clone();
    assert_eq!((answer.body.as_object().unwrap().len(), listed.len()), (1, 1));
    let worker = listed[0].as_object_mut().unwrap();
    for own in ["reputation", "dissents", "draining", "ban_reason"] {
        assert!(worker.remove(own).is_some(), "{own}");
    }
    let expected = json!({"id": 2, "name": "worker-owned", "owner_user_id": owner.id, "status": "offline",
        "region": null, "specs_json": null, "public_key": null, "last_seen_at": null});
    assert_eq!(listed[0], expected);
    assert!(!answer.text.contains("last_heartbeat_at"));
}

/// P5: `POST /workers/heartbeat`; the worker is online; a missing one and somebody else's are not found.
#[tokio::test(flavor = "multi_thread")]
async fn heartbeat() {
    let world = World::new().await;
    let (owner, other) = (world.owner("a").await, world.owner("b").await);
    let worker = world.worker(&owner, "w").await;
    let answer = worker.beat().await;
    assert_eq!(answer.text, golden::SEEN);
    let shown = world.get("/workers", &owner).await.body["workers"][0].clone();
    assert_eq!(
        (&shown["status"], &shown["last_seen_at"]),
        (&json!("online"), &json!("2026-02-08T12:30:45.123000Z"))
    );
    for (token, id) in [(&owner.token, 7), (&owner.token, -1), (&other.token, 1)] {
        let answer = world.call("POST /workers/heartbeat", token, json!({"worker_id": id})).await;
        assert_eq!(answer.told(), (404, "Worker not found"));
    }
}

/// P6: `POST /jobs/poll`; the payload itself, the nonce, the priority; and its two kinds of nothing.
#[tokio::test(flavor = "multi_thread")]
async fn poll() {
    let world = World::new().await;
    let (owner, client) = (world.owner("a").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    assert_eq!(worker.poll().await.told(), (404, "No assignment available"));
    let job = r#"{"payload": {"prompt": "hello"}, "priority": 99}"#;
    assert_eq!(world.call_with("POST /jobs", &client.token, job).await.status, 201);
    let answer = worker.poll().await;
    let nonce = answer.body["nonce"].as_str().unwrap();
    let expected = format!(
        r#"{{"assignment_id":65,"job":{{"prompt": "hello"}},"nonce":"{nonce}","cost_hint_tokens":99}}"#
    );
    assert_eq!((answer.status, &*answer.text), (200, &*expected));
    assert!((1..=128).contains(&nonce.len()));
    let foreign = world.call("POST /jobs/poll", &owner.token, json!({"worker_id": 4})).await;
    assert_eq!(foreign.told(), (404, "Worker not found"));
}

/// P7, P9: `POST /jobs/submit` with the document's fields; only assignment_id, nonce and output_hash are signed.
#[tokio::test(flavor = "multi_thread")]
async fn submit() {
    let world = World::new().await;
    let (owner, client) = (world.owner("a").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    world.job(&client, json!({"payload": {"prompt": "hello"}})).await;
    let assignment = worker.assignment().await;
    let nonce = assignment["nonce"].as_str().unwrap();
    let signature = worker
        .pair
        .sign(format!(r#"{{"assignment_id":65,"nonce":"{nonce}","output_hash":"hash-1"}}"#).as_bytes());
    let body = json!({"worker_id": 1, "assignment_id": 65, "nonce": nonce, "signature": signature.to_text(),
        "output": {"ok": true}, "output_hash": "hash-1"});
    let answer = worker.call("POST /jobs/submit", body).await;
    let expected = r#"{"assignment_id":65,"status":"completed","finished_at":"2026-02-08T12:30:45.123000Z"}"#;
    assert_eq!((answer.status, &*answer.text), (200, expected));
}

/// P2: `401 Invalid token` and `403 Insufficient role` on every route of the document, before anything else is looked at.
#[tokio::test(flavor = "multi_thread")]
async fn errors_of_all_routes() {
    let world = World::new().await;
    let client = world.client("c").await;
    for route in [
        "POST /workers/register",
        "GET /workers",
        "POST /workers/heartbeat",
        "POST /jobs/poll",
        "POST /jobs/submit",
    ] {
        let (method, path) = route.split_once(' ').unwrap();
        let bare = axum::http::Request::builder().method(method).uri(path).header("host", "localhost");
        let bare = world.send(bare.body(Body::from("not json")).unwrap()).await;
        assert_eq!(bare.told(), (401, "Invalid token"), "{route}");
        assert_eq!(
            world.call_with(route, "wrong", "not json").await.told(),
            (401, "Invalid token"),
            "{route}"
        );
        let told = world.call_with(route, &client.token, "not json").await;
        assert_eq!(told.told(), (403, "Insufficient role"), "{route}");
        assert_eq!(told.headers["content-type"], "application/problem+json");
    }
}

/// P8, P9: every error of the submission, in the document's words, each reached past all that come before it.
#[tokio::test(flavor = "multi_thread")]
async fn errors_of_submit() {
    let world = World::new().await;
    let owner = world.user("a", &[Role::WorkerOwner, Role::Client]).await;
    let worker = world.worker(&owner, "w").await;
    world.job(&owner, json!({"payload": 1})).await;
    let assignment = worker.assignment().await;
    let good = worker.result(&assignment, json!({}));
    let with = |more: Value| {
        let mut body = good.clone();
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (public_key, words) in [
        (Value::Null, "Worker public key is not configured"),
        (json!(""), "Worker public key is not configured"),
        (json!("no base64url!"), "Invalid public key encoding"),
        (json!("YWFh"), "Invalid public key length"),
    ] {
        let name = format!("keyless-{public_key}");
        let body = json!({"name": name, "public_key": public_key});
        let id = world.call("POST /workers/register", &owner.token, body).await.body["id"].clone();
        // Whatever else is wrong comes later.
        let answer = worker.call("POST /jobs/submit", with(json!({"worker_id": id, "signature": "!"}))).await;
        assert_eq!(answer.told(), (400, words));
    }
    let sign = |id: u64, nonce: &str| worker.pair.sign(&signed_bytes(id, nonce, None)).to_text();
    let nonce = assignment["nonce"].as_str().unwrap();
    for (more, status, words) in [
        (json!({"worker_id": 99}), 404, "Worker not found"),
        (json!({"signature": "!", "assignment_id": 9}), 400, "Invalid signature encoding"),
        (json!({"signature": "YWFh"}), 400, "Invalid signature length"),
        (json!({"output_hash": "another"}), 400, "Signature verification failed"),
        (json!({"assignment_id": 9, "signature": sign(9, nonce)}), 404, "Assignment not found"),
        (json!({"nonce": "other", "signature": sign(65, "other")}), 400, "Invalid nonce"),
    ] {
        assert_eq!(worker.call("POST /jobs/submit", with(more)).await.told(), (status, words));
    }
    assert_eq!(worker.call("POST /jobs/submit", good.clone()).await.status, 200);
    let again = worker.call("POST /jobs/submit", with(json!({"output": {}}))).await;
    assert_eq!(again.told(), (409, "Assignment already submitted"));
    let other = world.job(&owner, json!({"payload": 2})).await;
    let held = worker.assignment().await;
    world.call(&format!("DELETE /jobs/{other}"), &owner.token, Value::Null).await;
    assert_eq!(
        worker.submit(&held, json!({})).await.told(),
        (409, "Assignment is not in a submittable state")
    );
}
