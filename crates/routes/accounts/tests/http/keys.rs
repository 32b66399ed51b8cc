//! API keys (P13).

use crate::world::{ADMIN, PASSWORD, World};
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// P13: a key is shown once, opens what its user may, and stops at once when it is taken back.
#[tokio::test]
async fn a_key_works_until_it_is_taken_back() {
    let world = World::new();
    let token = world.member("ann", &["CLIENT", "VIEWER"]).await;
    let made = world.post("/api-keys", &token, json!({"name": "build"})).await;
    assert_eq!(
        (made.status.as_u16(), &made.body["id"], &made.body["name"]),
        (201, &json!(1), &json!("build"))
    );
    let key = text(&made.body["key"]);
    assert!(key.starts_with("mk_") && key.len() == 46 && key.starts_with(&text(&made.body["prefix"])));
    let me = world.get("/auth/me", &key).await;
    assert_eq!(me.body, json!({"id": 1, "username": "ann", "roles": ["CLIENT", "VIEWER"]}));
    assert_eq!(world.get("/look", &key).await.status, 200);
    assert_eq!(world.post("/auth/refresh", &key, Value::Null).await.status, 401, "it is no login");
    world.pass(100_000);
    assert_eq!(world.call(["DELETE", "/api-keys/1"], &key, Value::Null).await.status, 204);
    assert_eq!(world.get("/auth/me", &key).await.told(), (401, "Invalid token"));
    let token = world.token("ann").await;
    assert_eq!(
        world.call(["DELETE", "/api-keys/1"], &token, Value::Null).await.told(),
        (404, "API key not found")
    );
    let listed = world.get("/api-keys", &token).await;
    assert!(listed.body["api_keys"][0]["revoked_at"].is_string());
    assert!(!listed.body.to_string().contains(&key));
}

/// P13: a list shows prefix, scopes and last use, of the caller's own keys; a foreign one is not found.
#[tokio::test]
async fn keys_are_their_users_own() {
    let world = World::new();
    let (ann, bob) = (world.member("ann", &["CLIENT"]).await, world.member("bob", &["CLIENT"]).await);
    let made = world.post("/api-keys", &ann, json!({"name": "a", "scopes": ["CLIENT"]})).await;
    assert_eq!(world.get("/api-keys", &bob).await.body, json!({"api_keys": []}));
    for id in ["1", "2", "x", "-1"] {
        let answer = world.call(["DELETE", &format!("/api-keys/{id}")], &bob, Value::Null).await;
        assert_eq!(answer.told(), (404, "API key not found"), "{id}");
    }
    let shown = world.get("/api-keys", &ann).await.body["api_keys"][0].clone();
    assert_eq!((&shown["prefix"], &shown["scopes"]), (&made.body["prefix"], &json!(["CLIENT"])));
    assert_eq!((&shown["last_used_at"], &shown["revoked_at"]), (&Value::Null, &Value::Null));
    world.get("/auth/me", &text(&made.body["key"])).await;
    let used = async || world.get("/api-keys", &ann).await.body["api_keys"][0]["last_used_at"].clone();
    while used().await.is_null() {
        tokio::task::yield_now().await;
    }
    assert_eq!(used().await, "2026-02-02T02:40:00.000000Z");
}

/// P13: scopes narrow a key; neither its maker nor the key itself can make one that may more.
#[tokio::test]
async fn scopes_narrow_a_key() {
    let world = World::new();
    let token = world.member("ann", &["CLIENT", "VIEWER"]).await;
    let make = async |token: &str, body: Value| world.post("/api-keys", token, body).await;
    let narrow = text(&make(&token, json!({"name": "n", "scopes": ["CLIENT"]})).await.body["key"]);
    assert_eq!(world.get("/client", &narrow).await.status, 200);
    assert_eq!(world.get("/look", &narrow).await.status, 403);
    let child = make(&narrow, json!({"name": "child"})).await;
    assert_eq!(child.body["scopes"], json!(["CLIENT"]), "no more than its parent");
    for scopes in [json!(["ADMIN"]), json!(["CLIENT", "VIEWER"])] {
        let wider = make(&narrow, json!({"name": "wider", "scopes": scopes})).await;
        assert_eq!(wider.told(), (403, "Insufficient role"));
    }
    assert_eq!(make(&token, json!({"name": "x", "scopes": ["ADMIN"]})).await.status, 403);
    world.call(["PATCH", "/users/ann"], ADMIN, json!({"roles": ["VIEWER"]})).await;
    assert_eq!(world.get("/client", &narrow).await.status, 403, "its user may no longer");
    assert_eq!(make(ADMIN, json!({"name": ""})).await.told().0, 422);
}

/// P1, P13: the admin token makes keys too, and they are ADMIN's.
#[tokio::test]
async fn the_admin_token_makes_keys() {
    let world = World::new();
    let made = world.post("/api-keys", ADMIN, json!({"name": "ci", "scopes": ["CLIENT"]})).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let key = text(&made.body["key"]);
    assert_eq!(world.get("/client", &key).await.status, 200);
    assert_eq!(world.get("/users", &key).await.status, 403);
}

/// I7: who did what stands in the log, newest first, page by page; no password does.
#[tokio::test]
async fn privileged_acts_are_written_down() {
    let world = World::new();
    let boss = world.member("boss", &["ADMIN"]).await;
    world.post("/users", &boss, json!({"username": "ann", "password": PASSWORD, "roles": ["CLIENT"]})).await;
    world.call(["PATCH", "/users/ann"], &boss, json!({"active": false})).await;
    world.post("/users", &boss, json!({"username": "ann", "password": PASSWORD, "roles": []})).await;
    world.post("/auth/logout", &boss, Value::Null).await;
    let page = world.get("/audit?limit=4", ADMIN).await;
    let acts: Vec<_> =
        page.body["acts"].as_array().unwrap().iter().map(|act| (&act["username"], &act["action"])).collect();
    let boss = json!("boss");
    let expected = [json!("logout"), json!("change_user"), json!("add_user"), json!("login")];
    assert_eq!(
        acts,
        expected.iter().map(|action| (&boss, action)).collect::<Vec<_>>(),
        "what was refused is not there"
    );
    let rest = world.get(&format!("/audit?after={}", page.body["next"].as_str().unwrap()), ADMIN).await;
    let first = &rest.body["acts"][0];
    assert_eq!((&first["username"], &first["user_id"]), (&json!("admin-token"), &json!(0)));
    assert_eq!((&first["action"], &first["at"]), (&json!("add_user"), &json!("2026-02-02T02:40:00.000000Z")));
    let all = format!("{}{}", page.body, rest.body);
    assert!(!all.contains(PASSWORD) && !all.contains("argon2") && !all.contains(ADMIN), "{all}");
}

/// I7: acts are found by what was done, by whom and to what, whatever stands between them; pages go on where the last ended.
#[tokio::test]
async fn acts_are_found() {
    let world = World::new();
    let boss = world.member("boss", &["ADMIN"]).await;
    for n in 0..6 {
        let by = if n % 3 == 0 { ADMIN } else { &boss };
        world
            .post("/users", by, json!({"username": format!("u{n}"), "password": PASSWORD, "roles": []}))
            .await;
        world.call(["PATCH", &format!("/users/u{n}")], by, json!({"active": false})).await;
    }
    let found = async |query: &str| -> Vec<String> {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let page = world.get(&format!("/audit?{query}{after}"), ADMIN).await.body;
            let acts = page["acts"].as_array().unwrap();
            found.extend(acts.iter().map(|act| act["subject"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else { return found };
            after = format!("&after={next}");
        }
    };
    for limit in [1, 2, 5, 100] {
        let added = found(&format!("action=add_user&actor=boss&limit={limit}")).await;
        assert_eq!(added, ["u5", "u4", "u2", "u1"].map(|name| format!("user {name:?} ")), "{limit}");
        assert_eq!(found(&format!("subject_contains=u3&limit={limit}")).await, ["user \"u3\" "]);
        assert_eq!(found(&format!("action=nothing&limit={limit}")).await, [""; 0]);
    }
    let wrong = world.get("/audit?acton=x", ADMIN).await;
    assert_eq!((wrong.status.as_u16(), &wrong.body["errors"][0]["loc"]), (422, &json!(["query", "acton"])));
}
