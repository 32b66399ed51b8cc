//! Tokens end when they should, whatever happens to the server: P1, P2.

use crate::{hand_in, plain, told};
use muster_tests::{Client, FakePoolWorker, Request, Server, password_of};
use serde_json::{Value, json};

fn ended(client: &Client) {
    assert_eq!(told(&client.get("/auth/me")), (401, "Invalid token".to_owned()));
}

fn refreshed(client: &Client) -> Client {
    let answer = client.send(Request::new("POST", "/auth/refresh")).expect(200);
    client.with_token(answer["access_token"].as_str().unwrap())
}

fn change(server: &Server, name: &str, change: &Value) {
    let _ = server.admin().patch(&format!("/users/{name}"), change).expect(200);
}

/// P1, P2: a refresh ends the old token at once and for good, over kill -9 and a restart.
#[test]
fn a_refresh_ends_the_token_before() {
    let mut server = Server::start();
    let first = server.user("ann", &["CLIENT"]);
    let second = refreshed(&first);
    ended(&first);
    assert_eq!(told(&first.send(Request::new("POST", "/auth/refresh"))), (401, "Invalid token".to_owned()));
    let _ = second.get("/auth/me").expect(200);
    server.kill9();
    server.restart();
    ended(&first);
    let _ = second.get("/auth/me").expect(200);
    let third = refreshed(&second);
    server.kill9();
    server.restart();
    ended(&second);
    let _ = third.get("/auth/me").expect(200);
    assert_eq!(third.send(Request::new("POST", "/auth/logout")).status, 204);
    server.kill9();
    server.restart();
    ended(&third);
}

/// P1, P2, P13: a disabled user's tokens and API keys stop working at once, over a restart too; what was handed in stays.
#[test]
fn a_disabled_user_is_shut_out() {
    let mut server = Server::start();
    let ann = server.user("ann", &["CLIENT", "WORKER_OWNER"]);
    let job = hand_in(&ann, &plain(1));
    let worker = FakePoolWorker::registered(&ann, "worker-a");
    let assignment = worker.poll();
    let key = ann.post("/api-keys", &json!({"name": "ci"})).expect(201);
    let by_key = ann.with_token(key["key"].as_str().unwrap());
    change(&server, "ann", &json!({"active": false}));
    for _ in 0..2 {
        ended(&ann);
        ended(&by_key);
        assert_eq!(told(&worker.submit(&worker.result(&assignment, &json!({})))).0, 401);
        let login = server.try_login("ann", &password_of("ann"));
        assert_eq!(told(&login), (401, "Incorrect username or password".to_owned()));
        server.kill9();
        server.restart();
    }
    change(&server, "ann", &json!({"active": true}));
    ended(&ann);
    let again = server.login("ann");
    assert_eq!(again.get(&format!("/jobs/{job}")).expect(200)["status"], "running");
    let _ = worker.by(&again).submit(&worker.result(&assignment, &json!({}))).expect(200);
}

/// P13: an API key is a bearer token, shown once, of its user and no more; taken back it stops at once, over a restart.
#[test]
fn api_keys_are_bearer_tokens() {
    let mut server = Server::start();
    let (ann, bob) = (server.user("ann", &["CLIENT", "WORKER_OWNER"]), server.user("bob", &["CLIENT"]));
    let made = ann.post("/api-keys", &json!({"name": "ci", "scopes": ["CLIENT"]})).expect(201);
    let (id, key) = (&made["id"], made["key"].as_str().unwrap());
    let by_key = ann.with_token(key);
    let job = hand_in(&by_key, &plain(1));
    assert_eq!(ann.get(&format!("/jobs/{job}")).status, 200, "they are the user's");
    assert_eq!(told(&by_key.get("/workers")), (403, "Insufficient role".to_owned()), "beyond its scopes");
    assert_eq!(bob.get("/api-keys").expect(200)["api_keys"], json!([]));
    let list = ann.get("/api-keys").expect(200);
    assert!(!list.to_string().contains(key), "shown once");
    server.kill9();
    server.restart();
    assert_eq!(by_key.get("/auth/me").expect(200)["roles"], json!(["CLIENT"]));
    let revoke = Request::new("DELETE", &format!("/api-keys/{id}"));
    assert_eq!(told(&bob.send(revoke.clone())), (404, "API key not found".to_owned()));
    assert_eq!(ann.send(revoke).status, 204);
    for _ in 0..2 {
        ended(&by_key);
        server.kill9();
        server.restart();
    }
}
