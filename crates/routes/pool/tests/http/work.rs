//! Results and work in one call (P19), with one signature for many results (P20).

use crate::world::World;
use axum::{body::Body, http::header};
use muster_proof::{Receipt, encode_base64url};
use serde_json::{Value, json};

/// P19: results and next leases in one call; each item is judged for itself and keeps its place.
#[tokio::test(flavor = "multi_thread")]
async fn results_and_work_in_one_call() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 4}})).await;
    for n in 1..=6 {
        world.job(&client, json!({"payload": n, "priority": n})).await;
    }
    let work = async |submit: Value| {
        let body = json!({"worker_id": 1, "submit": submit, "max": 4, "start": true});
        worker.call("POST /jobs/work", body).await
    };
    let first = work(json!([])).await;
    assert_eq!((first.status, &first.body["submitted"]), (200, &json!([])));
    let held = first.body["assignments"].as_array().unwrap().clone();
    let jobs: Vec<&Value> = held.iter().map(|one| &one["job"]).collect();
    assert_eq!(jobs, [6, 5, 4, 3]);
    assert_eq!(held[0]["cost_hint_tokens"], 6);
    let mut forged = worker.result(&held[1], json!({}));
    forged["output_hash"] = "forged".into();
    let good = worker.result(&held[0], json!({"output": {"ok": true}}));
    let failed = worker.result(&held[2], json!({"error_message": "broke"}));
    let unknown = worker.result(&json!({"assignment_id": 99_999, "nonce": "x"}), json!({}));
    let second = work(json!([forged, good, good, failed, unknown])).await;
    let at = "2026-02-08T12:30:45.123000Z";
    assert_eq!(
        second.body["submitted"],
        json!([
            {"assignment_id": held[1]["assignment_id"], "error": "Signature verification failed", "code": 400},
            {"assignment_id": held[0]["assignment_id"], "status": "completed", "finished_at": at},
            {"assignment_id": held[0]["assignment_id"], "error": "Assignment already submitted", "code": 409,
                "identical": true},
            {"assignment_id": held[2]["assignment_id"], "status": "failed", "finished_at": at},
            {"assignment_id": 99_999, "error": "Assignment not found", "code": 404},
        ])
    );
    let next: Vec<&Value> =
        second.body["assignments"].as_array().unwrap().iter().map(|one| &one["job"]).collect();
    assert_eq!(next, [4, 2]);
}

/// P8, P19: an item and a submission by itself are told from each other by their bytes alone.
#[tokio::test(flavor = "multi_thread")]
async fn an_items_digest_is_of_its_own_text() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    world.job(&client, json!({"payload": 1})).await;
    let item = worker.result(&worker.assignment().await, json!({})).to_string();
    let call = format!(r#"{{"max":0,"submit":[ {item} ],"worker_id":1}}"#);
    let taken = world.call_with("POST /jobs/work", &owner.token, &call).await;
    assert_eq!(taken.body["submitted"][0]["status"], "completed");
    let alone = world.call_with("POST /jobs/submit", &owner.token, &item).await;
    assert_eq!((alone.status, &alone.headers["Muster-Identical"]), (409, &"true".parse().unwrap()));
}

/// P8, P19: without a usable key no item is taken, and work is given all the same.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_nothing_is_taken() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker =
        world.worker_as(&owner, json!({"name": "w", "public_key": "", "specs_json": {"slots": 2}})).await;
    world.job(&client, json!({"payload": 1})).await;
    let item = worker.result(&worker.assignment().await, json!({}));
    let answer =
        worker.call("POST /jobs/work", json!({"worker_id": 1, "submit": [item, item], "max": 1})).await;
    for told in answer.body["submitted"].as_array().unwrap() {
        assert_eq!(
            (&told["error"], &told["code"]),
            (&json!("Worker public key is not configured"), &json!(400))
        );
    }
    assert_eq!(answer.body["assignments"].as_array().unwrap().len(), 1);
    let foreign = worker.call("POST /jobs/work", json!({"worker_id": 9, "submit": [], "max": 1})).await;
    assert_eq!(foreign.told(), (404, "Worker not found"));
}

/// P19: a call without results waits for work as a poll does.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_results_waits() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker(&owner, "w").await;
    worker.beat().await;
    let (worked, _) = tokio::join!(
        worker.call("POST /jobs/work", json!({"worker_id": 1, "submit": [], "max": 3, "wait_ms": 30000})),
        world.job(&client, json!({"payload": 1})),
    );
    assert_eq!(worked.body["assignments"][0]["job"], 1);
}

/// P18, P19: a thousand jobs go in at once, out at once, and back at once; larger than other bodies may be.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_at_once() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 1000}})).await;
    let filler = "x".repeat(2000);
    let jobs: Vec<Value> = (0..1000).map(|n| json!({"payload": {"n": n, "filler": filler}})).collect();
    let taken = send_large(&world, "POST /jobs/batch", &client.token, json!({"jobs": jobs})).await;
    assert_eq!((taken.status, taken.body["jobs"].as_array().unwrap().len()), (201, 1000));
    let worked = worker.call("POST /jobs/work", json!({"worker_id": 1, "submit": [], "max": 1000})).await;
    let held = worked.body["assignments"].as_array().unwrap();
    assert_eq!((held.len(), &held[999]["job"]["n"]), (1000, &json!(999)));
    let mut results: Vec<Value> =
        held.iter().map(|one| worker.result(one, json!({"output": {"filler": filler}}))).collect();
    results[500]["signature"] = results[501]["signature"].clone();
    let body = json!({"worker_id": 1, "submit": results, "max": 0});
    let told = send_large(&world, "POST /jobs/work", &owner.token, body).await.body;
    for (n, item) in told["submitted"].as_array().unwrap().iter().enumerate() {
        assert_eq!(item["status"] == "completed", n != 500, "{item}");
    }
    assert_eq!(told["submitted"][500]["error"], "Signature verification failed");
    assert_eq!(told["assignments"], json!([]));
}

/// P17, P20: one signature covers many results. Each is judged for itself, and its receipt holds offline.
#[tokio::test(flavor = "multi_thread")]
async fn one_signature_covers_many_results() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 9}})).await;
    for n in 1..=3 {
        world.job(&client, json!({"payload": n})).await;
    }
    let first = worker.call("POST /jobs/work", json!({"worker_id": 1, "submit": [], "max": 3})).await;
    let held = first.body["assignments"].as_array().unwrap().clone();
    let results = vec![
        worker.result(&held[0], json!({"output_hash": "h"})),
        worker.result(&json!({"assignment_id": 99_999, "nonce": "x"}), json!({})),
        worker.result(&held[1], json!({"error_message": "broke"})),
        worker.result(&held[2], json!({})),
    ];
    let call = worker.batch(results);
    let statuses = |answer: &crate::world::Answer| {
        let items = answer.body["submitted"].as_array().unwrap().iter();
        items.map(|item| (item["status"].clone(), item["error"].clone())).collect::<Vec<_>>()
    };
    let told = |status: &str| (json!(status), Value::Null);
    let refused = |error: &str| (Value::Null, json!(error));
    assert_eq!(
        statuses(&worker.call("POST /jobs/work", call.clone()).await),
        [told("completed"), refused("Assignment not found"), told("failed"), told("completed")]
    );
    // The items are the same bytes in another batch.
    let mut items = call["submit"].as_array().unwrap().clone();
    items.remove(1);
    let again = worker.call("POST /jobs/work", worker.batch(items)).await;
    assert!(again.body["submitted"].as_array().unwrap().iter().all(|item| item["identical"] == true));
    for (job, index) in [(1, 0), (3, 3)] {
        let receipt = world.get(&format!("/jobs/{job}/receipt"), &client).await;
        assert_eq!(
            (&receipt.body["signature"], &receipt.body["batch"]["index"]),
            (&Value::Null, &json!(index))
        );
        let receipt = Receipt::parse(receipt.text.as_bytes()).unwrap();
        receipt.check(Some(&worker.pair.public_text())).unwrap();
    }
}

/// P8, P20: what is wrong with the signature of a batch is wrong with every result; a result with both signatures is 422.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_refused_as_a_whole() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 2}})).await;
    for n in 1..=2 {
        world.job(&client, json!({"payload": n})).await;
    }
    let first = worker.call("POST /jobs/work", json!({"worker_id": 1, "submit": [], "max": 2})).await;
    let held = first.body["assignments"].as_array().unwrap().clone();
    let good = worker.batch(held.iter().map(|one| worker.result(one, json!({}))).collect());
    let mut swapped = good.clone();
    swapped["submit"].as_array_mut().unwrap().swap(0, 1);
    let with = |signature: &str| {
        let mut call = good.clone();
        call["batch_signature"] = signature.into();
        call
    };
    for (call, words) in [
        (swapped, "Signature verification failed"),
        (with("!"), "Invalid signature encoding"),
        (with("YWFh"), "Invalid signature length"),
    ] {
        let answer = worker.call("POST /jobs/work", call).await;
        let items = answer.body["submitted"].as_array().unwrap();
        assert_eq!(items.len(), 2);
        assert!(items.iter().all(|item| item["error"] == words && item["code"] == 400), "{answer:?}");
    }
    let mut both = good.clone();
    both["submit"][1]["signature"] = "s".into();
    let (status, detail) = (422, "body.submit.1.signature: Input should be absent");
    let refused = worker.call("POST /jobs/work", both).await;
    assert!(refused.status == status && refused.told().1.starts_with(detail), "{refused:?}");
    let taken = worker.call("POST /jobs/work", good).await;
    assert!(taken.body["submitted"].as_array().unwrap().iter().all(|item| item["status"] == "completed"));
}

/// P8, P9, P20: the checks of a batch come in the order of the rule, and each refuses every result. A key of small order, with
/// which a lax check accepts one signature for every message, verifies nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_checked_in_the_order_of_the_rule() {
    let world = World::new().await;
    let owner = world.owner("o").await;
    let small_order = encode_base64url(&std::array::from_fn::<u8, 32, _>(|n| u8::from(n == 0)));
    let of_anything = encode_base64url(&std::array::from_fn::<u8, 64, _>(|n| u8::from(n == 0)));
    let cases = [
        ("", "!", "Worker public key is not configured"),
        ("!", "!", "Invalid public key encoding"),
        ("YWFh", "!", "Invalid public key length"),
        (&small_order, "!", "Invalid signature encoding"),
        (&small_order, "YWFh", "Invalid signature length"),
        (&small_order, &of_anything, "Signature verification failed"),
    ];
    for (n, (key, signature, words)) in cases.into_iter().enumerate() {
        let worker = world.worker_as(&owner, json!({"name": format!("w{n}"), "public_key": key})).await;
        let unknown = |id: u64| worker.result(&json!({"assignment_id": id, "nonce": "x"}), json!({}));
        let mut call = worker.batch(vec![unknown(65), unknown(129)]);
        call["batch_signature"] = signature.into();
        let answer = worker.call("POST /jobs/work", call.clone()).await;
        let refused = |id: u64| json!({"assignment_id": id, "error": words, "code": 400});
        assert_eq!(answer.body["submitted"], json!([refused(65), refused(129)]), "{key} {signature}");
        call["worker_id"] = 99.into();
        call["submit"].as_array_mut().unwrap().iter_mut().for_each(|item| item["worker_id"] = 99.into());
        assert_eq!(worker.call("POST /jobs/work", call).await.told(), (404, "Worker not found"));
    }
}

/// P20: one signature covers as many results as a call may have.
#[tokio::test(flavor = "multi_thread")]
async fn one_signature_covers_a_thousand_results() {
    let world = World::new().await;
    let (owner, client) = (world.owner("o").await, world.client("c").await);
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 1000}})).await;
    let jobs: Vec<Value> = (0..1000).map(|n| json!({"payload": n})).collect();
    world.call("POST /jobs/batch", &client.token, json!({"jobs": jobs})).await;
    let worked = worker.call("POST /jobs/work", json!({"worker_id": 1, "submit": [], "max": 1000})).await;
    let held = worked.body["assignments"].as_array().unwrap();
    let filler = "x".repeat(2000);
    let results = held.iter().map(|one| worker.result(one, json!({"output": {"filler": filler}}))).collect();
    let told = send_large(&world, "POST /jobs/work", &owner.token, worker.batch(results)).await.body;
    let items = told["submitted"].as_array().unwrap();
    assert_eq!(
        (items.len(), items.iter().filter(|item| item["status"] == "completed").count()),
        (1000, 1000)
    );
    let receipt = world.get("/jobs/1000/receipt", &client).await;
    let batch = &receipt.body["batch"];
    assert_eq!((&batch["count"], batch["path"].as_array().unwrap().len()), (&json!(1000), 8));
    let receipt = Receipt::parse(receipt.text.as_bytes()).unwrap();
    receipt.check(Some(&worker.pair.public_text())).unwrap();
}

async fn send_large(world: &World, route: &str, token: &str, body: Value) -> crate::world::Answer {
    let text = body.to_string();
    assert!(text.len() > 1 << 20);
    let request = crate::world::request(route, token).header(header::CONTENT_LENGTH, text.len());
    world.send(request.body(Body::from(text)).unwrap()).await
}
