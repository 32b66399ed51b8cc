//! Logins (P1, P2).

use crate::world::{ADMIN, Answer, ENROLMENT, NODE, PASSWORD, World, request};
use axum::{body::Body, http::Request};
use serde_json::{Value, json};

fn form(body: &'static str) -> Request<Body> {
    let request = Request::post("/auth/login").header("host", "localhost");
    request.header("content-type", "application/x-www-form-urlencoded").body(Body::from(body)).unwrap()
}

/// P1: the OAuth2 password form is answered with a token; JSON is taken too.
#[tokio::test]
async fn a_login_gives_a_token() {
    let world = World::new();
    world.add("ann@example.org", &["CLIENT", "WORKER_OWNER"]).await;
    let grant = "grant_type=password&username=ann%40example.org&password=correct+horse&scope=&client_id=x";
    for answer in [world.send(form(grant)).await, world.login("ann@example.org", PASSWORD).await] {
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!((&answer.body["token_type"], &answer.body["expires_in"]), (&json!("bearer"), &json!(900)));
        assert_eq!(answer.body.as_object().unwrap().len(), 3);
        assert_eq!(answer.headers["cache-control"], "no-store");
        let me = world.get("/auth/me", answer.body["access_token"].as_str().unwrap()).await;
        let roles = ["CLIENT", "WORKER_OWNER"];
        assert_eq!(me.body, json!({"id": 1, "username": "ann@example.org", "roles": roles}));
    }
    assert_eq!(world.get("/auth/me", ADMIN).await.body["username"], "admin-token");
}

/// P1: what is no login form is told in FastAPI's shape, and costs no hash.
#[tokio::test]
async fn a_wrong_form_is_422() {
    let world = World::new();
    let missing = world.send(form("username=ann")).await;
    assert_eq!(missing.told(), (422, "body.password: Field required"));
    assert_eq!(missing.body["errors"], json!([{"loc": ["body", "password"], "msg": "Field required"}]));
    for wrong in ["grant_type=code&username=a&password=b", "username=a&username=b&password=c", ""] {
        assert_eq!(world.send(form(wrong)).await.status, 422, "{wrong}");
    }
    for wrong in
        ["{", "[]", "{\"username\": 7, \"password\": \"x\"}", "{\"username\":\"a\",\"username\":\"b\"}"]
    {
        let answer = world.send(request("POST", "/auth/login", "").body(Body::from(wrong)).unwrap()).await;
        assert_eq!(
            (answer.status.as_u16(), answer.body["errors"][0]["loc"][0].as_str()),
            (422, Some("body"))
        );
    }
    let long = Body::from(format!("{{\"username\": \"a\", \"password\": \"{}\"}}", "x".repeat(20_000)));
    assert_eq!(world.send(request("POST", "/auth/login", "").body(long).unwrap()).await.status, 413);
    assert_eq!(world.checks(), 0);
}

fn without_request_id(mut answer: Answer) -> (u16, Value, String) {
    answer.headers.remove("x-request-id");
    (answer.status.as_u16(), answer.body, format!("{:?}", answer.headers))
}

/// P1: an unknown user, a wrong password and a user out of service are one answer, for the same work.
#[tokio::test]
async fn who_exists_is_not_told() {
    let world = World::new();
    world.add("ann", &["CLIENT"]).await;
    world.add("bob", &["CLIENT"]).await;
    world.call(["PATCH", "/users/bob"], ADMIN, json!({"active": false})).await;
    let mut answers = Vec::new();
    for (name, password) in [("ann", "wrong"), ("nobody", "wrong"), ("bob", PASSWORD), ("admin-token", ADMIN)]
    {
        let before = world.checks();
        answers.push(without_request_id(world.login(name, password).await));
        assert_eq!(world.checks(), before + 1, "one hash for {name}");
    }
    assert_eq!((answers[0].0, &answers[0].1["detail"]), (401, &json!("Incorrect username or password")));
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

/// P1: ten wrong passwords a minute, then 429 before anything is computed, for the right one too; successes do not count.
#[tokio::test]
async fn guessing_is_slowed_down() {
    let world = World::new();
    world.add("ann", &["CLIENT"]).await;
    for name in ["ann", "nobody"] {
        for _ in 0..10 {
            assert_eq!(world.login(name, "wrong").await.status, 401);
        }
        let before = world.checks();
        let refused = world.login(name, PASSWORD).await;
        assert_eq!(refused.told(), (429, "Too many attempts"), "{name}");
        let wait: u32 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait));
        assert_eq!(world.checks(), before);
    }
    world.add("bob", &["CLIENT"]).await;
    for _ in 0..12 {
        world.token("bob").await;
    }
}

/// P1: a refresh ends the token before it at once, and can be had once for each.
#[tokio::test]
async fn a_refresh_ends_the_token_before() {
    let world = World::new();
    let first = world.member("ann", &["CLIENT"]).await;
    world.pass(600);
    let answer = world.post("/auth/refresh", &first, Value::Null).await;
    assert_eq!((answer.status.as_u16(), &answer.body["expires_in"]), (200, &json!(900)), "{}", answer.body);
    let second = answer.body["access_token"].as_str().unwrap();
    assert_eq!(world.get("/auth/me", &first).await.told(), (401, "Invalid token"));
    assert_eq!(world.post("/auth/refresh", &first, Value::Null).await.told(), (401, "Invalid token"));
    world.pass(899);
    assert_eq!(world.get("/auth/me", second).await.status, 200, "beyond the end of the first");
    world.pass(1);
    assert_eq!(world.get("/auth/me", second).await.told(), (401, "Invalid token"));
    assert_eq!(world.post("/auth/refresh", second, Value::Null).await.told(), (401, "Invalid token"));
}

/// P1: a logout ends that login and no other.
#[tokio::test]
async fn a_logout_ends_one_login() {
    let world = World::new();
    let (first, second) = (world.member("ann", &["CLIENT"]).await, world.token("ann").await);
    assert_eq!(world.post("/auth/logout", &first, Value::Null).await.status, 204);
    assert_eq!(world.get("/auth/me", &first).await.told(), (401, "Invalid token"));
    assert_eq!(world.get("/auth/me", &second).await.status, 200);
    assert_eq!(world.post("/auth/logout", ADMIN, Value::Null).await.told(), (401, "Invalid token"));
}

/// P2: no token, a broken one, one of somebody who is no user: all the same answer.
#[tokio::test]
async fn what_is_no_users_token_is_invalid() {
    let world = World::new();
    let token = world.member("ann", &["CLIENT"]).await;
    let [_, payload, mac] = token.split('.').collect::<Vec<_>>()[..] else { panic!("three parts") };
    let none = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.");
    let none_signed = format!("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{payload}.{mac}");
    for wrong in ["", "x", NODE, ENROLMENT, &none, &none_signed, &token[1..], "mk_x", &format!("{token}x")] {
        let answer = world.get("/auth/me", wrong).await;
        assert_eq!(answer.told(), (401, "Invalid token"), "{wrong}");
        assert!(answer.headers.contains_key("www-authenticate"));
        assert_eq!(world.get("/client", wrong).await.told(), (401, "Invalid token"), "{wrong}");
    }
    let twice = request("GET", "/auth/me", &token).header("authorization", format!("Bearer {token}"));
    assert_eq!(world.send(twice.body(Body::empty()).unwrap()).await.status, 401);
}
