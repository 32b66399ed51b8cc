//! Workers: their keys, their standing, their lists (P3, P4, P5, P14).

use crate::world::{ADMIN, World};
use muster_model::Role;
use serde_json::{Value, json};

/// P3: what was registered is what is shown, specs letter by letter.
#[tokio::test(flavor = "multi_thread")]
async fn specs_are_shown_as_they_came() {
    let world = World::new().await;
    let owner = world.owner("o").await;
    let body =
        r#"{"name": "w", "specs_json": {"slots": 2, "vram": 1.50, "big": 123456789012345678901234567890}}"#;
    let answer = world.call_with("POST /workers/register", &owner.token, body).await;
    let specs = r#""specs_json":{"slots": 2, "vram": 1.50, "big": 123456789012345678901234567890}"#;
    assert!(answer.text.contains(specs), "{}", answer.text);
    assert!(world.get("/workers", &owner).await.text.contains(specs));
}

/// P4: without a limit all are listed; with one, page by page.
#[tokio::test(flavor = "multi_thread")]
async fn workers_are_listed_in_pages() {
    let world = World::new().await;
    let owner = world.owner("o").await;
    for n in 0..5 {
        world.worker(&owner, &format!("w{n}")).await;
    }
    assert_eq!(world.get("/workers", &owner).await.body["workers"].as_array().unwrap().len(), 5);
    let mut names = Vec::new();
    let mut path = "/workers?limit=2".to_owned();
    loop {
        let page = world.get(&path, &owner).await.body;
        names.extend(page["workers"].as_array().unwrap().iter().map(|worker| worker["name"].clone()));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/workers?limit=2&after={next}");
    }
    assert_eq!(names, ["w0", "w1", "w2", "w3", "w4"]);
}

/// P3, P8: a new key takes the place of the old: what the old one signed is refused from then on.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_can_be_replaced() {
    let world = World::new().await;
    let (owner, other) = (world.owner("o").await, world.owner("x").await);
    let client = world.client("c").await;
    let mut worker = world.worker(&owner, "w").await;
    world.job(&client, json!({"payload": 1})).await;
    let assignment = worker.assignment().await;
    let new = muster_proof::KeyPair::from_seed(&[9; 32]);
    let body = json!({"public_key": new.public_text()});
    let foreign = world.call("PUT /workers/1/key", &other.token, body.clone()).await;
    assert_eq!(foreign.told(), (404, "Worker not found"));
    let answer = worker.call("PUT /workers/1/key", body).await;
    assert_eq!((answer.status, &answer.body["public_key"]), (200, &json!(new.public_text())));
    let old = worker.submit(&assignment, json!({})).await;
    assert_eq!(old.told(), (400, "Signature verification failed"));
    worker.pair = new;
    assert_eq!(worker.submit(&assignment, json!({})).await.status, 200);
}

/// P14: a draining worker gets no more work and may finish what it has; resumed, it gets work again.
#[tokio::test(flavor = "multi_thread")]
async fn draining_is_the_owners() {
    let world = World::new().await;
    let (owner, other) = (world.owner("o").await, world.owner("x").await);
    let client = world.client("c").await;
    let worker = world.worker_as(&owner, json!({"name": "w", "specs_json": {"slots": 2}})).await;
    world.job(&client, json!({"payload": 1})).await;
    let assignment = worker.assignment().await;
    let foreign = world.call("POST /workers/1/drain", &other.token, Value::Null).await;
    assert_eq!(foreign.told(), (404, "Worker not found"));
    let drained = worker.call("POST /workers/1/drain", Value::Null).await;
    assert_eq!((drained.status, &drained.body["draining"]), (200, &json!(true)));
    world.job(&client, json!({"payload": 2})).await;
    assert_eq!(worker.submit(&assignment, json!({})).await.status, 200);
    assert_eq!(worker.poll().await.told(), (404, "No assignment available"));
    let resumed = worker.call("POST /workers/1/resume", Value::Null).await;
    assert_eq!(resumed.body["draining"], false);
    assert_eq!(worker.assignment().await["job"], 2);
}

/// P5, P14: a banned worker stays banned whatever it says; what it had is given to others; unbanned, it works again.
#[tokio::test(flavor = "multi_thread")]
async fn banning_is_the_admins() {
    let world = World::new().await;
    let owner = world.owner("o").await;
    let (client, admin) = (world.client("c").await, world.user("boss", &[Role::Admin]).await);
    let worker = world.worker(&owner, "w").await;
    world.job(&client, json!({"payload": 1})).await;
    let assignment = worker.assignment().await;
    let banned = world.call("POST /workers/1/ban", &admin.token, json!({"reason": "lies"})).await;
    let standing = (&banned.body["status"], &banned.body["ban_reason"]);
    assert_eq!((banned.status, standing), (200, (&json!("banned"), &json!("lies"))));
    assert_eq!(worker.beat().await.status, 200);
    assert_eq!(world.get("/workers", &owner).await.body["workers"][0]["status"], "banned");
    assert_eq!(worker.poll().await.told(), (404, "No assignment available"));
    let late = worker.submit(&assignment, json!({})).await;
    assert_eq!(late.told(), (409, "Assignment is not in a submittable state"));
    let unbanned = world.call("POST /workers/1/unban", ADMIN, json!({"reason": "sorry"})).await;
    assert_eq!((unbanned.status, &unbanned.body["ban_reason"]), (200, &Value::Null));
    worker.beat().await;
    assert_ne!(worker.assignment().await["assignment_id"], assignment["assignment_id"]);
}

/// P14, I7: who banned and unbanned whom is in the audit log, with their name.
#[tokio::test(flavor = "multi_thread")]
async fn bans_are_written_down() {
    let world = World::new().await;
    let owner = world.owner("o").await;
    let admin = world.user("boss", &[Role::Admin]).await;
    world.worker(&owner, "w").await;
    world.call("POST /workers/1/ban", &admin.token, json!({"reason": "lies"})).await;
    world.call("POST /workers/1/unban", ADMIN, json!({"reason": "sorry"})).await;
    let page = muster_store::Cursor { after: None, limit: 10 };
    let acts = world.coordinator.read(move |reader| reader.audit(&page)).await.unwrap().items;
    let names: Vec<&str> = acts.iter().map(|act| &*act.actor.name).collect();
    assert_eq!(names, ["admin-token", "boss"]);
}

/// P5: 30 s without a heartbeat or a poll, and a worker is offline.
#[tokio::test(flavor = "multi_thread")]
async fn silence_is_offline() {
    let world = World::new().await;
    let owner = world.owner("o").await;
    let worker = world.worker(&owner, "w").await;
    let status = async || world.get("/workers", &owner).await.body["workers"][0]["status"].clone();
    worker.poll().await;
    assert_eq!(status().await, "online");
    world.pass(29).await;
    assert_eq!(status().await, "online");
    world.pass(2).await;
    assert_eq!(status().await, "offline");
    worker.beat().await;
    assert_eq!(status().await, "online");
}

/// I7: those who run the place see all workers, page by page; an owner's token does not open it.
#[tokio::test(flavor = "multi_thread")]
async fn operators_see_all_workers() {
    let world = World::new().await;
    let (one, two) = (world.owner("a").await, world.owner("b").await);
    world.worker(&one, "w1").await;
    world.worker(&two, "w2").await;
    let viewer = world.user("v", &[muster_model::Role::Viewer]).await;
    let page = world.get("/api/pool/workers?limit=1", &viewer).await;
    assert_eq!((page.status, &page.body["workers"][0]["name"]), (200, &json!("w1")));
    let next = page.body["next"].as_str().unwrap();
    let page = world.get(&format!("/api/pool/workers?after={next}"), &viewer).await;
    assert_eq!((&page.body["workers"][0]["name"], page.body.get("next")), (&json!("w2"), None));
    assert_eq!(world.get("/api/pool/workers", &one).await.status, 403);
}
