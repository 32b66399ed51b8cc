//! Jobs that several workers do (P15).

use crate::world::{User, Worker, World};
use muster_proof::{Receipt, canonical, sha256_hex};
use serde_json::{Value, json};

/// Three workers of three owners.
async fn three(world: &World) -> Vec<(User, Worker<'_>)> {
    let mut all = Vec::new();
    for name in ["a", "b", "c"] {
        let owner = world.owner(name).await;
        let worker = world.worker(&owner, &format!("worker-{name}")).await;
        all.push((owner, worker));
    }
    all
}

/// The hash of an output, as a worker declares it.
fn hash(output: &Value) -> String {
    sha256_hex(&canonical(output.to_string().as_bytes()).unwrap())
}

/// P15, P17: a majority of hashes decides; the dissenter's reputation falls, a third dissent bans it; every completed result
/// of a job has a receipt.
#[tokio::test(flavor = "multi_thread")]
async fn a_majority_decides() {
    let world = World::new().await;
    let client = world.client("client").await;
    let workers = three(&world).await;
    for round in 1..=3 {
        let job = world.job(&client, json!({"payload": round, "redundancy": 3})).await;
        let mut held = Vec::new();
        for (_, worker) in &workers {
            held.push(worker.assignment().await);
        }
        let (right, wrong) = (json!({"sum": 3}), json!({"sum": 4}));
        for (n, output) in [(2, &wrong), (0, &right), (1, &right)] {
            let said = json!({"output": output, "output_hash": hash(output)});
            let answer = workers[n].1.submit(&held[n], said).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let ended = world.get(&format!("/jobs/{job}"), &client).await.body;
        assert_eq!((&ended["status"], &ended["output_hash"]), (&json!("completed"), &json!(hash(&right))));
        for assignment in &held {
            let id = &assignment["assignment_id"];
            let receipt = world.get(&format!("/jobs/{job}/receipt?assignment_id={id}"), &client).await;
            let receipt = Receipt::parse(receipt.text.as_bytes()).unwrap();
            receipt.check(None).unwrap();
        }
        let dissenter = world.get("/workers", &workers[2].0).await.body["workers"][0].clone();
        assert_eq!(dissenter["dissents"], round);
        assert!(dissenter["reputation"].as_f64().unwrap() < 1.0);
        assert_eq!(dissenter["status"] == "banned", round == 3, "{dissenter}");
    }
    let honest = world.get("/workers", &workers[0].0).await.body["workers"][0].clone();
    assert_eq!((&honest["reputation"], &honest["dissents"]), (&json!(1.0), &json!(0)));
}

/// P8, P15: a result of a redundant job without an output, and one whose declared hash is not that of its output, are
/// refused in the contract's words, after the checks of the nonce and the state; also where the job says that nothing is
/// to be verified, and in a call for work.
#[tokio::test(flavor = "multi_thread")]
async fn a_vote_needs_its_output() {
    let world = World::new().await;
    let client = world.client("client").await;
    let workers = three(&world).await;
    let body = json!({"payload": 1, "redundancy": 3, "verify_output_hash": false});
    let job = world.job(&client, body).await;
    let worker = &workers[0].1;
    let held = worker.assignment().await;
    let (right, wrong) = (json!({"sum": 3}), json!({"sum": 4}));
    let required = (400, "Output required");
    for (said, told) in [
        (json!({}), required),
        (json!({"output": null, "output_hash": hash(&right)}), required),
        (json!({"output_hash": hash(&right), "artifact_uri": "s3://x"}), required),
        (json!({"error_message": "", "output_hash": hash(&right)}), required),
        (json!({"output": wrong, "output_hash": hash(&right)}), (400, "Output hash mismatch")),
        (json!({"output": wrong, "output_hash": ""}), (400, "Output hash mismatch")),
        (json!({"nonce": "other"}), (400, "Invalid nonce")),
    ] {
        assert_eq!(worker.submit(&held, said.clone()).await.told(), told, "{said}");
    }
    let item = worker.result(&held, json!({}));
    let work = json!({"worker_id": worker.id, "submit": [item], "max": 0});
    let told = worker.call("POST /jobs/work", work).await.body["submitted"][0].clone();
    assert_eq!((&told["error"], &told["code"]), (&json!("Output required"), &json!(400)));
    let failed = worker.submit(&held, json!({"error_message": "no disk"})).await;
    assert_eq!((failed.status, &failed.body["status"]), (200, &json!("failed")), "a failure is no vote");
    world.call(&format!("DELETE /jobs/{job}"), &client.token, Value::Null).await;
    assert_eq!(worker.submit(&held, json!({})).await.told(), (409, "Assignment already submitted"));
}

/// P9, P15, P17: without a declared hash the computed one is the vote. What the job and its receipt show stays what the
/// worker signed.
#[tokio::test(flavor = "multi_thread")]
async fn the_computed_hash_is_the_vote() {
    let world = World::new().await;
    let client = world.client("client").await;
    let workers = three(&world).await;
    let job = world.job(&client, json!({"payload": 1, "redundancy": 3})).await;
    let output = json!({"b": 1.5, "a": "\u{e4}"});
    let silent = workers[0].1.submit(&workers[0].1.assignment().await, json!({"output": output})).await;
    assert_eq!(silent.status, 200, "{silent:?}");
    let declared = json!({"output": output, "output_hash": hash(&output)});
    let answer = workers[1].1.submit(&workers[1].1.assignment().await, declared).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let ended = world.get(&format!("/jobs/{job}"), &client).await.body;
    assert_eq!((&ended["status"], &ended["output"]), (&json!("completed"), &output), "two of three agree");
    assert_eq!(ended["output_hash"], Value::Null, "the first result is the job's, and declared no hash");
    let receipt = world.get(&format!("/jobs/{job}/receipt"), &client).await;
    let receipt = Receipt::parse(receipt.text.as_bytes()).unwrap();
    receipt.check(Some(&workers[0].1.pair.public_text())).unwrap();
    assert_eq!(receipt.output_hash, None);
}

/// P15: workers agree only if their artifacts are the same, too; the declared hash stays that of the output alone.
#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_is_part_of_the_vote() {
    let world = World::new().await;
    let client = world.client("client").await;
    let workers = three(&world).await;
    let job = world.job(&client, json!({"payload": 1, "redundancy": 3})).await;
    let output = json!({"sum": 3});
    for (n, uri) in ["s3://false", "s3://true", "s3://true"].into_iter().enumerate() {
        let said = json!({"output": output, "output_hash": hash(&output), "artifact_uri": uri});
        let answer = workers[n].1.submit(&workers[n].1.assignment().await, said).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let ended = world.get(&format!("/jobs/{job}"), &client).await.body;
    assert_eq!((&ended["status"], &ended["artifact_uri"]), (&json!("completed"), &json!("s3://true")));
    assert_eq!(ended["output_hash"], hash(&output));
    let dissenter = world.get("/workers", &workers[0].0).await.body["workers"][0].clone();
    assert_eq!(dissenter["dissents"], 1);
}

/// P15: workers of one owner do not vote twice; fewer owners than needed are waited for, and that is explained.
#[tokio::test(flavor = "multi_thread")]
async fn owners_are_needed_not_workers() {
    let world = World::new().await;
    let client = world.client("client").await;
    let owner = world.owner("o").await;
    let (one, two) = (world.worker(&owner, "one").await, world.worker(&owner, "two").await);
    let job = world.job(&client, json!({"payload": 1, "redundancy": 2})).await;
    one.assignment().await;
    assert_eq!(two.poll().await.told(), (404, "No assignment available"));
    let shown = world.get(&format!("/jobs/{job}"), &client).await.body;
    assert!(shown["explanation"].as_str().unwrap().contains("different owners"), "{shown}");
    let _: Value = shown;
}
