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
