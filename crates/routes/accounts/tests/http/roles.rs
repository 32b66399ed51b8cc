//! Who may do what (P2, I7).

use crate::world::{ADMIN, ENROLMENT, NODE, World};
use serde_json::Value;

/// I7: a VIEWER reads what operators read, an OPERATOR and an ADMIN do everything, others nothing of it.
#[tokio::test]
async fn operators_have_roles() {
    let world = World::new();
    for (role, look, operate) in [
        ("VIEWER", 200, 403),
        ("OPERATOR", 200, 200),
        ("ADMIN", 200, 200),
        ("CLIENT", 403, 403),
        ("WORKER_OWNER", 403, 403),
    ] {
        let token = world.member(role, &[role]).await;
        assert_eq!(world.get("/look", &token).await.status, look, "{role}");
        assert_eq!(world.call(["HEAD", "/look"], &token, Value::Null).await.status, look, "{role}");
        assert_eq!(world.post("/operate", &token, Value::Null).await.status, operate, "{role}");
        assert_eq!(world.get("/metrics", &token).await.status, look, "{role}");
    }
    let told = world.post("/operate", &world.token("VIEWER").await, Value::Null).await;
    assert_eq!(told.told(), (403, "this needs the role OPERATOR"));
    assert_eq!(world.post("/operate", ADMIN, Value::Null).await.status, 200);
    assert_eq!(world.post("/operate", NODE, Value::Null).await.status, 403);
    assert_eq!(world.post("/operate", "", Value::Null).await.status, 401);
}

/// P1, P2: CLIENT or ADMIN hand in jobs; only a WORKER_OWNER speaks for workers, an ADMIN does not.
#[tokio::test]
async fn clients_and_owners_have_roles() {
    let world = World::new();
    for (role, client, owner) in [
        ("CLIENT", 200, 403),
        ("WORKER_OWNER", 403, 200),
        ("ADMIN", 200, 403),
        ("OPERATOR", 403, 403),
        ("VIEWER", 403, 403),
    ] {
        let token = world.member(role, &[role]).await;
        assert_eq!(world.get("/client", &token).await.status, client, "{role}");
        assert_eq!(world.get("/owner", &token).await.status, owner, "{role}");
    }
    assert_eq!(world.get("/client", ADMIN).await.status, 200);
    assert_eq!(world.get("/owner", ADMIN).await.told(), (403, "Insufficient role"));
    let both = world.member("both", &["ADMIN", "WORKER_OWNER"]).await;
    assert_eq!(world.get("/owner", &both).await.status, 200);
    assert_eq!(world.get("/owner", ENROLMENT).await.told(), (401, "Invalid token"));
}

/// P2, I7: accounts are for ADMINs, keys for CLIENTs; the token is judged before the body is.
#[tokio::test]
async fn accounts_are_for_admins() {
    let world = World::new();
    let operator = world.member("op", &["OPERATOR", "VIEWER", "WORKER_OWNER"]).await;
    for (method, path) in [
        ("POST", "/users"),
        ("GET", "/users"),
        ("PATCH", "/users/other"),
        ("GET", "/audit"),
        ("POST", "/api-keys"),
        ("GET", "/api-keys"),
        ("DELETE", "/api-keys/1"),
    ] {
        let answer = world.call([method, path], &operator, Value::from("nonsense")).await;
        assert_eq!(answer.told(), (403, "Insufficient role"), "{method} {path}");
        let answer = world.call([method, path], "", Value::from("nonsense")).await;
        assert_eq!(answer.told(), (401, "Invalid token"), "{method} {path}");
    }
}
