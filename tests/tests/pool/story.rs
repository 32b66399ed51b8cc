//! One job from its client to its worker and back: P1 to P9, P13.

use crate::{Pool, hand_in, told};
use muster_tests::{FakePoolWorker, Request, Server, password_of};
use serde_json::{Value, json};

/// P1: the OAuth2 form and JSON give tokens of three parts; `/auth/me` says whose.
#[test]
fn a_user_logs_in_by_form_or_json() {
    let server = Server::start();
    server.add_user("ann", &["CLIENT", "WORKER_OWNER"]);
    let form = format!("grant_type=password&username=ann&password={}", password_of("ann"));
    let request =
        Request::new("POST", "/auth/login").header("content-type", "application/x-www-form-urlencoded");
    let by_form = server.anonymous().send(request.bytes(form.into_bytes())).expect(200);
    let by_json = server.try_login("ann", &password_of("ann")).expect(200);
    for answer in [by_form, by_json] {
        assert_eq!((&answer["token_type"], &answer["expires_in"]), (&json!("bearer"), &json!(900)));
        let token = answer["access_token"].as_str().unwrap();
        assert_eq!(token.split('.').count(), 3);
        let me = server.anonymous().with_token(token).get("/auth/me").expect(200);
        assert_eq!(me, json!({"id": 1, "username": "ann", "roles": ["CLIENT", "WORKER_OWNER"]}));
    }
}

/// P3, P4: a registration is answered in the contract's fields; a name is unique over all owners; a list has only one's own.
#[test]
fn owners_register_workers_and_see_their_own() {
    let server = Server::start();
    let (olga, otto) = (server.user("olga", &["WORKER_OWNER"]), server.user("otto", &["WORKER_OWNER"]));
    let body = json!({"name": "worker-owner-a", "region": "sa-east-1",
        "public_key": "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"});
    let answer = olga.post("/workers/register", &body).expect(201);
    assert_eq!(
        answer,
        json!({"id": 1, "name": "worker-owner-a", "owner_user_id": 1, "status": "offline", "region": "sa-east-1",
            "specs_json": null, "public_key": "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE", "last_seen_at": null})
    );
    for owner in [&olga, &otto] {
        let again = owner.post("/workers/register", &json!({"name": "worker-owner-a"}));
        assert_eq!(told(&again), (409, "Worker name already exists".to_owned()));
    }
    let _ =
        otto.post("/workers/register", &json!({"name": "worker-b", "specs_json": {"slots": 2}})).expect(201);
    let names = |list: Value| -> Vec<Value> {
        list["workers"].as_array().unwrap().iter().map(|worker| worker["name"].clone()).collect()
    };
    assert_eq!(names(olga.get("/workers").expect(200)), ["worker-owner-a"]);
    assert_eq!(names(otto.get("/workers").expect(200)), ["worker-b"]);
}

/// P5, P12: a heartbeat makes a worker online and is told as `last_seen_at`; a missing one and a foreign one are not found.
#[test]
fn a_heartbeat_makes_a_worker_online() {
    let Pool { server, worker, .. } = Pool::start();
    let seen = worker.owner().post("/workers/heartbeat", &json!({"worker_id": worker.id})).expect(200);
    assert_eq!(seen["worker_id"], worker.id);
    let at = seen["last_seen_at"].as_str().unwrap();
    assert!(at.len() == 27 && at.ends_with('Z'), "microseconds, UTC: {at}");
    let shown = worker.shown();
    assert_eq!((&shown["status"], &shown["last_seen_at"]), (&json!("online"), &json!(at)));
    assert!(shown.get("last_heartbeat_at").is_none());
    let otto = server.user("otto", &["WORKER_OWNER"]);
    for (owner, id) in [(worker.owner(), 99), (&otto, worker.id)] {
        for path in ["/workers/heartbeat", "/jobs/poll"] {
            let answer = owner.post(path, &json!({"worker_id": id}));
            assert_eq!(told(&answer), (404, "Worker not found".to_owned()), "{path}");
        }
    }
}

/// P6, P7, P13: a job is polled, the same assignment until it is submitted; what came of it is its client's to see.
#[test]
fn a_job_goes_to_its_worker_and_back() {
    let pool = Pool::start();
    let Pool { client, worker, .. } = &pool;
    assert_eq!(told(&worker.try_poll()), (404, "No assignment available".to_owned()));
    let payload = json!({"prompt": "hello \u{1f980}", "big": 12_345_678_901_234_567_890_u64});
    let created = client.post("/jobs", &json!({"payload": payload, "priority": 99})).expect(201);
    let id = created["id"].as_u64().unwrap();
    assert_eq!((&created["status"], &created["payload"]), (&json!("queued"), &payload));
    let assignment = worker.poll();
    assert_eq!((&assignment["job"], &assignment["cost_hint_tokens"]), (&payload, &json!(99)));
    assert_eq!(assignment, worker.poll(), "the same one again");
    assert_eq!(pool.job(id)["status"], "running");
    let mut result = worker.result(&assignment, &json!({"ok": true}));
    result["artifact_uri"] = json!("s3://bucket/key");
    result["metrics_json"] = json!({"ms": 7});
    let submitted = worker.submit(&result).expect(200);
    assert_eq!(submitted["assignment_id"], assignment["assignment_id"]);
    assert_eq!(submitted["status"], "completed");
    let job = pool.job(id);
    for (field, expected) in [
        ("id", json!(id)),
        ("status", json!("completed")),
        ("payload", payload),
        ("priority", json!(99)),
        ("region", Value::Null),
        ("output", json!({"ok": true})),
        ("output_hash", result["output_hash"].clone()),
        ("error_message", Value::Null),
        ("artifact_uri", json!("s3://bucket/key")),
        ("metrics_json", json!({"ms": 7})),
        ("created_at", created["created_at"].clone()),
        ("finished_at", submitted["finished_at"].clone()),
    ] {
        assert_eq!(job[field], expected, "{field}");
    }
    assert_eq!(told(&worker.try_poll()), (404, "No assignment available".to_owned()));
}

/// P6: what was started is not handed out again, and is told to whoever resumes after a crash, of the server too.
#[test]
fn what_was_started_is_resumed() {
    let mut pool = Pool::start();
    let id = hand_in(&pool.client, &json!({"payload": {"n": 1}}));
    let ask = |pool: &Pool, more: Value| {
        let mut body = json!({"worker_id": pool.worker.id});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        pool.worker.owner().post("/jobs/poll", &body)
    };
    assert_eq!(ask(&pool, json!({"resume": true})).expect(200), json!({"assignments": []}));
    let assignment = ask(&pool, json!({"start": true})).expect(200);
    assert_eq!(ask(&pool, json!({})).status, 404);
    pool.kill9_and_restart();
    assert_eq!(ask(&pool, json!({"resume": true})).expect(200), json!({"assignments": [assignment]}));
    let _ = pool.worker.submit(&pool.worker.result(&assignment, &json!({"n": 1}))).expect(200);
    assert_eq!(pool.job(id)["status"], "completed");
    assert_eq!(ask(&pool, json!({"wait_ms": 30_001})).status, 422);
}

/// P8, P9, P11: each wrong result has its status and text, judged in the contract's order; none changes anything.
#[test]
fn wrong_results_are_refused_in_order() {
    let pool = Pool::start();
    let Pool { server, client, worker } = &pool;
    let id = hand_in(client, &json!({"payload": {}, "verify_output_hash": true}));
    let assignment = worker.poll();
    let good = worker.result(&assignment, &json!({"ok": true}));
    let with = |changes: Value| {
        let mut body = good.clone();
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        told(&worker.submit(&body))
    };
    let of_another =
        FakePoolWorker::registered(worker.owner(), "worker-b").result(&assignment, &json!({"ok": true}));
    let unknown = worker.result(&json!({"assignment_id": 9999, "nonce": assignment["nonce"]}), &json!({}));
    let wrong_nonce = worker.result(
        &json!({"assignment_id": assignment["assignment_id"], "nonce": "nonce-submit-1"}),
        &json!({}),
    );
    let mismatch = worker.signed(&assignment, Some("hash-1"));
    let mut mismatch_body = mismatch.clone();
    mismatch_body["output"] = json!({"ok": true});
    for (refused, status, text) in [
        (with(json!({"worker_id": 999})), 404, "Worker not found"),
        (with(json!({"signature": "not base64!"})), 400, "Invalid signature encoding"),
        (with(json!({"signature": "AAAA"})), 400, "Invalid signature length"),
        (with(json!({"signature": "A".repeat(86)})), 400, "Signature verification failed"),
        (with(json!({"output_hash": "other"})), 400, "Signature verification failed"),
        (with(json!({"signature": of_another["signature"]})), 400, "Signature verification failed"),
        (told(&worker.submit(&unknown)), 404, "Assignment not found"),
        (told(&worker.submit(&wrong_nonce)), 400, "Invalid nonce"),
        (told(&worker.submit(&mismatch_body)), 400, "Output hash mismatch"),
    ] {
        assert_eq!(refused, (status, text.to_owned()));
    }
    assert_eq!(pool.job(id)["status"], "running");
    let _ = worker.submit(&good).expect(200);
    let again = worker.submit(&good);
    assert_eq!(told(&again), (409, "Assignment already submitted".to_owned()));
    assert_eq!(again.header("muster-identical"), Some("true"));
    assert_eq!(with(json!({"artifact_uri": "x"})), (409, "Assignment already submitted".to_owned()));
    assert_eq!(server.database().count("SELECT count(*) FROM workers"), 2);
}

/// P3, P8: a key that cannot verify is kept as it is and refused when a result comes; the owner can replace it.
#[test]
fn keys_are_judged_at_submit() {
    let pool = Pool::start();
    let (owner, worker) = (pool.worker.owner(), &pool.worker);
    hand_in(&pool.client, &json!({"payload": {}}));
    let result = worker.result(&worker.poll(), &json!({}));
    let point = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    for (key, text) in [
        ("", "Worker public key is not configured"),
        ("not base64url!", "Invalid public key encoding"),
        ("AAAA", "Invalid public key length"),
        (point, "Signature verification failed"),
        ("AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "Signature verification failed"),
    ] {
        let path = format!("/workers/{}/key", worker.id);
        let _ = owner.send(Request::new("PUT", &path).json(&json!({"public_key": key}))).expect(200);
        assert_eq!(told(&worker.submit(&result)), (400, text.to_owned()), "{key}");
    }
    let path = format!("/workers/{}/key", worker.id);
    let padded = format!("{}=", worker.public_key());
    let _ = owner.send(Request::new("PUT", &path).json(&json!({"public_key": padded}))).expect(200);
    let _ = worker.submit(&result).expect(200);
}

/// P8: an error makes the assignment failed and the job queued again, with another id and nonce, until its attempts are used up.
#[test]
fn a_failed_attempt_is_followed_by_another() {
    let pool = Pool::start();
    let id = hand_in(&pool.client, &json!({"payload": {}, "max_attempts": 2}));
    let mut seen = Vec::new();
    for status in ["queued", "failed"] {
        let assignment = pool.worker.poll();
        let mut result = pool.worker.signed(&assignment, None);
        result["error_message"] = json!("no such model");
        assert_eq!(pool.worker.submit(&result).expect(200)["status"], "failed");
        assert_eq!(pool.job(id)["status"], status);
        seen.push((assignment["assignment_id"].clone(), assignment["nonce"].clone()));
    }
    assert!(seen[0].0 != seen[1].0 && seen[0].1 != seen[1].1, "{seen:?}");
    assert_eq!(pool.job(id)["error_message"], "no such model");
    assert_eq!(told(&pool.worker.try_poll()), (404, "No assignment available".to_owned()));
}

/// P5, P8: a lease that ran out is given anew, to whoever asks, under another id; the late result is not taken.
#[test]
fn a_late_result_is_not_taken() {
    let pool = Pool::with(&[("MUSTER_POOL__LEASE_S", "0.3"), ("MUSTER_POOL__OFFLINE_AFTER_S", "0.3")]);
    let id = hand_in(&pool.client, &json!({"payload": {"n": 1}, "max_attempts": 60}));
    let late = pool.worker.poll();
    let other = FakePoolWorker::registered(pool.worker.owner(), "worker-b");
    let next = muster_tests::until("the lease runs out", || {
        let answer = other.try_poll();
        (answer.status == 200).then(|| answer.json())
    });
    assert_eq!(next["job"], late["job"]);
    assert!(next["assignment_id"] != late["assignment_id"] && next["nonce"] != late["nonce"]);
    let refused = pool.worker.submit(&pool.worker.result(&late, &json!({"by": "the late"})));
    assert_eq!(told(&refused), (409, "Assignment is not in a submittable state".to_owned()));
    // Its own lease is as short; whichever attempt is in time counts.
    muster_tests::until("a result in time", || {
        let answer = other.try_poll();
        let assignment = (answer.status == 200).then(|| answer.json())?;
        let taken = other.submit(&other.result(&assignment, &json!({"by": "the next"})));
        (taken.status == 200).then_some(())
    });
    assert_eq!(pool.job(id)["output"], json!({"by": "the next"}));
}
