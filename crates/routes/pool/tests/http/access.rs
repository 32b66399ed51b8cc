//! Access rights of each route: P1, P2, P13, P14, I7.

use crate::world::{ADMIN, ENROL, NODE, World};
use muster_model::Role;
use serde_json::{Value, json};

const OF_OWNERS: [&str; 9] = [
    "POST /workers/register",
    "GET /workers",
    "POST /workers/heartbeat",
    "PUT /workers/1/key",
    "POST /workers/1/drain",
    "POST /workers/1/resume",
    "POST /jobs/poll",
    "POST /jobs/submit",
    "POST /jobs/work",
];

const OF_CLIENTS: [&str; 8] = [
    "POST /jobs",
    "POST /jobs/batch",
    "GET /jobs",
    "GET /jobs/1",
    "DELETE /jobs/1",
    "GET /jobs/1/receipt",
    "GET /jobs/1/explain",
    "POST /jobs/1/retry",
];

const OF_ADMINS: [&str; 2] = ["POST /workers/1/ban", "POST /workers/1/unban"];

/// P1, P2, P13, P14: each route has its role; ADMIN is everything but a worker's owner; a token that is no user's is none.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_has_its_role() {
    let world = World::new().await;
    let owner = world.owner("o").await.token;
    let client = world.client("c").await.token;
    let admin = world.user("a", &[Role::Admin]).await.token;
    let viewer = world.user("v", &[Role::Viewer, Role::Operator]).await.token;
    for (routes, allowed) in [
        (&OF_OWNERS[..], &[&*owner][..]),
        (&OF_CLIENTS, &[&client, &admin, ADMIN]),
        (&OF_ADMINS, &[&admin, ADMIN]),
    ] {
        for route in routes {
            for token in [NODE, ENROL, "wrong"] {
                assert_eq!(
                    world.call(route, token, Value::Null).await.told(),
                    (401, "Invalid token"),
                    "{route}"
                );
            }
            for token in [&*owner, &client, &admin, ADMIN, &viewer] {
                let answer = world.call(route, token, Value::Null).await;
                let is_refused = answer.told() == (403, "Insufficient role");
                assert_eq!(is_refused, !allowed.contains(&token), "{route} {answer:?}");
            }
        }
    }
}

/// P1, P2: a disabled user's token stops working at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_user_is_nobody() {
    let world = World::new().await;
    let client = world.client("c").await;
    assert_eq!(world.get("/jobs", &client).await.status, 200);
    let change = muster_model::UserChange { active: Some(false), ..Default::default() };
    let user = muster_model::UserId(client.id);
    world.coordinator.ask(muster_model::ask::accounts::ChangeUser { user, change }).await.unwrap();
    assert_eq!(world.get("/jobs", &client).await.told(), (401, "Invalid token"));
}

/// P3, P7, P13: a body of wrong shape is told after 401 and 403, and before every other check.
#[tokio::test(flavor = "multi_thread")]
async fn shape_comes_before_everything_else() {
    let world = World::new().await;
    let both = world.user("u", &[Role::WorkerOwner, Role::Client, Role::Admin]).await.token;
    for (route, body, place) in [
        ("POST /workers/register", json!({}), json!(["body", "name"])),
        ("POST /workers/heartbeat", json!({"worker_id": "7"}), json!(["body", "worker_id"])),
        ("PUT /workers/99/key", json!({}), json!(["body", "public_key"])),
        ("POST /workers/99/ban", json!({"reason": ""}), json!(["body", "reason"])),
        ("POST /jobs/poll", json!({"worker_id": 99, "wait_ms": 30001}), json!(["body", "wait_ms"])),
        (
            "POST /jobs/submit",
            json!({"worker_id": 99, "assignment_id": 1, "nonce": "", "signature": ""}),
            json!(["body", "nonce"]),
        ),
        (
            "POST /jobs/work",
            json!({"worker_id": 99, "submit": [{}], "max": 1}),
            json!(["body", "submit", 0, "assignment_id"]),
        ),
        ("POST /jobs", json!({"priority": 1}), json!(["body", "payload"])),
        ("POST /jobs/batch", json!({"jobs": [{}]}), json!(["body", "jobs", 0, "payload"])),
        ("GET /jobs?limit=0", Value::Null, json!(["query", "limit"])),
        ("GET /jobs?status=done", Value::Null, json!(["query", "status"])),
        ("GET /jobs?stauts=failed", Value::Null, json!(["query", "stauts"])),
        ("GET /jobs/99?wait_ms=30001", Value::Null, json!(["query", "wait_ms"])),
        ("GET /jobs/99/receipt?assignment_id=x", Value::Null, json!(["query", "assignment_id"])),
        ("GET /workers?limit=x", Value::Null, json!(["query", "limit"])),
    ] {
        let answer = world.call(route, &both, body).await;
        assert_eq!((answer.status, &answer.body["errors"][0]["loc"]), (422, &place), "{route} {answer:?}");
        assert!(answer.body["errors"][0]["msg"].is_string() && answer.body["detail"].is_string());
        assert_eq!(answer.headers["content-type"], "application/problem+json");
    }
    let broken = world.call_with("POST /jobs", &both, "{\"payload\": NaN}").await;
    assert_eq!((broken.status, &broken.body["errors"][0]["loc"]), (422, &json!(["body", 12])));
}

/// P5, P13: what is no id, in a path, names nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_id_names_nothing() {
    let world = World::new().await;
    let all = world.user("u", &[Role::WorkerOwner, Role::Client, Role::Admin]).await.token;
    for id in ["99", "0", "-1", "+1", "01", "x", "18446744073709551616", "1.0"] {
        let drained = world.call(&format!("POST /workers/{id}/drain"), &all, Value::Null).await;
        assert_eq!(drained.told(), (404, "Worker not found"), "{id}");
        let banned = world.call(&format!("POST /workers/{id}/ban"), &all, json!({"reason": "x"})).await;
        assert_eq!(banned.told(), (404, "Worker not found"), "{id}");
        for route in [
            "GET /jobs/{id}",
            "DELETE /jobs/{id}",
            "GET /jobs/{id}/receipt",
            "GET /jobs/{id}/explain",
            "POST /jobs/{id}/retry",
        ] {
            let answer = world.call(&route.replace("{id}", id), &all, Value::Null).await;
            assert_eq!(answer.told(), (404, "Job not found"), "{route} {id}");
        }
    }
}
