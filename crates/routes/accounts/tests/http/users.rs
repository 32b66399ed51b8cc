//! Users (P1).

use crate::world::{ADMIN, ENROLMENT, NODE, PASSWORD, World};
use serde_json::{Value, json};

/// P1: an ADMIN adds users, whose names are theirs alone; no answer shows a password or its hash.
#[tokio::test]
async fn users_are_added_and_listed() {
    let world = World::new();
    let ann = world.add("ann", &["CLIENT"]).await;
    assert_eq!(
        (&ann.body["id"], &ann.body["roles"], &ann.body["active"]),
        (&json!(1), &json!(["CLIENT"]), &json!(true))
    );
    assert_eq!(ann.body["created_at"], "2026-02-02T02:40:00.000000Z");
    world.add("bob", &[]).await;
    let again = json!({"username": "ann", "password": PASSWORD, "roles": []});
    assert_eq!(world.post("/users", ADMIN, again).await.told(), (409, "Username already exists"));
    let list = world.get("/users?limit=1", ADMIN).await;
    assert_eq!(list.body["users"], json!([ann.body]));
    let next = list.body["next"].as_str().unwrap();
    let rest = world.get(&format!("/users?after={next}"), ADMIN).await;
    assert_eq!((&rest.body["users"][0]["username"], rest.body.get("next")), (&json!("bob"), None));
    assert!(!format!("{}{}", list.body, rest.body).contains("argon2"));
    assert_eq!(world.get("/users?limit=0", ADMIN).await.body["errors"][0]["loc"], json!(["query", "limit"]));
}

/// P1: all that is wrong with a new user is told, and why a password cannot be one.
#[tokio::test]
async fn a_wrong_user_is_422() {
    let world = World::new();
    let answer = world
        .post("/users", ADMIN, json!({"username": "a b", "password": "1234567", "roles": ["ROOT"]}))
        .await;
    assert_eq!(answer.status, 422);
    let places: Vec<_> =
        answer.body["errors"].as_array().unwrap().iter().map(|error| error["loc"].clone()).collect();
    assert_eq!(
        places,
        [json!(["body", "username"]), json!(["body", "password"]), json!(["body", "roles", 0])]
    );
    assert!(
        answer.body["detail"].as_str().unwrap().contains("8 to 1024 bytes, not 7: shorter ones are guessed")
    );
    assert_eq!(world.post("/users", ADMIN, json!({})).await.body["errors"].as_array().unwrap().len(), 3);
    assert_eq!(world.get("/users", ADMIN).await.body["users"], json!([]));
}

/// P1, P2: the token of a user put out of service stops working at once, and no login comes back with the service.
#[tokio::test]
async fn a_disabled_user_is_out_at_once() {
    let world = World::new();
    let token = world.member("ann", &["CLIENT"]).await;
    let key =
        world.post("/api-keys", &token, json!({"name": "k"})).await.body["key"].as_str().unwrap().to_owned();
    let disabled = world.call(["PATCH", "/users/ann"], ADMIN, json!({"active": false})).await;
    assert_eq!((disabled.status.as_u16(), &disabled.body["active"]), (200, &json!(false)));
    for shown in [&token, &key] {
        assert_eq!(world.get("/auth/me", shown).await.told(), (401, "Invalid token"));
    }
    assert_eq!(world.post("/auth/refresh", &token, Value::Null).await.status, 401);
    assert_eq!(world.login("ann", PASSWORD).await.told(), (401, "Incorrect username or password"));
    world.call(["PATCH", "/users/ann"], ADMIN, json!({"active": true})).await;
    assert_eq!(world.get("/auth/me", &token).await.status, 401, "the login is over");
    assert_eq!(world.get("/auth/me", &key).await.status, 200, "the key was not taken back");
    world.token("ann").await;
}

/// P1: roles that are changed count at once, for the tokens that are out too.
#[tokio::test]
async fn changed_roles_count_at_once() {
    let world = World::new();
    let token = world.member("ann", &["CLIENT"]).await;
    world.call(["PATCH", "/users/ann"], ADMIN, json!({"roles": ["VIEWER"]})).await;
    assert_eq!(world.get("/client", &token).await.told(), (403, "Insufficient role"));
    assert_eq!(world.get("/look", &token).await.status, 200);
    let unknown = world.call(["PATCH", "/users/nobody"], ADMIN, json!({"active": false})).await;
    assert_eq!(unknown.told(), (404, "User not found"));
}

/// P1: anybody changes their own password by giving the current one, which ends their logins; nothing else, nobody else's.
#[tokio::test]
async fn a_user_changes_their_own_password() {
    let world = World::new();
    let token = world.member("ann", &["CLIENT"]).await;
    world.add("bob", &["CLIENT"]).await;
    let patch = |name, body| world.call(["PATCH", name], &token, body);
    for roles in [json!({"roles": ["ADMIN"]}), json!({"active": true}), json!({"roles": [], "password": "x"})]
    {
        assert_eq!(patch("/users/ann", roles).await.told(), (403, "Insufficient role"));
    }
    let new = json!({"current_password": PASSWORD, "password": "battery staple"});
    assert_eq!(patch("/users/bob", new.clone()).await.told(), (403, "Insufficient role"));
    let unproven = patch("/users/ann", json!({"password": "battery staple"})).await;
    assert_eq!(unproven.told(), (422, "body.current_password: Field required"));
    let wrong = json!({"current_password": "wrong", "password": "battery staple"});
    assert_eq!(patch("/users/ann", wrong.clone()).await.told(), (403, "Incorrect password"));
    assert_eq!(patch("/users/ann", new).await.status, 200);
    assert_eq!(world.get("/auth/me", &token).await.told(), (401, "Invalid token"));
    assert_eq!(world.login("ann", PASSWORD).await.status, 401);
    assert_eq!(world.login("ann", "battery staple").await.status, 200);
}

/// P1: the current password cannot be guessed by whoever holds a token: wrong ones count like failed logins.
#[tokio::test]
async fn a_stolen_token_does_not_guess_the_password() {
    let world = World::new();
    let token = world.member("ann", &["CLIENT"]).await;
    let wrong = json!({"current_password": "wrong", "password": "battery staple"});
    for _ in 0..10 {
        assert_eq!(world.call(["PATCH", "/users/ann"], &token, wrong.clone()).await.status, 403);
    }
    assert_eq!(world.call(["PATCH", "/users/ann"], &token, wrong).await.told(), (429, "Too many attempts"));
}

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
