//! Jobs that several workers do (P15).

use crate::world::{User, Worker, World};
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
        for (n, hash) in [(2, "wrong"), (0, "right"), (1, "right")] {
            let answer = workers[n].1.submit(&held[n], json!({"output_hash": hash})).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let ended = world.get(&format!("/jobs/{job}"), &client).await.body;
        assert_eq!((&ended["status"], &ended["output_hash"]), (&json!("completed"), &json!("right")));
        for assignment in &held {
            let id = &assignment["assignment_id"];
            let receipt = world.get(&format!("/jobs/{job}/receipt?assignment_id={id}"), &client).await;
            let receipt = muster_proof::Receipt::parse(receipt.text.as_bytes()).unwrap();
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
