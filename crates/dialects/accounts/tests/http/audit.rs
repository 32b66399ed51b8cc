//! The audit log (I7).

use crate::world::{ADMIN, PASSWORD, World};
use serde_json::{Value, json};

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
