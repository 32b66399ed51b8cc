//! The gateway before a real server: what it passes on, and what it does not let past. P16, I7, I9.

use muster_tests::{Client, FakePoolWorker, Gateway, Request, Server, password_of};
use serde_json::json;
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
    time::Duration,
};

/// The same caller by way of the gateway.
fn through(gateway: &Gateway, token: &str) -> Client {
    gateway.anonymous().with_token(token)
}

fn token_of(server: &Server, name: &str, roles: &[&str]) -> String {
    server.add_user(name, roles);
    let login = server.try_login(name, &password_of(name)).expect(200);
    login["access_token"].as_str().unwrap().to_owned()
}

/// P16: contract P works by way of the gateway: logins, work that is waited for, results, receipts.
#[test]
fn the_pool_works_through_the_gateway() {
    let server = Server::start();
    let gateway = Gateway::before(&server, &[]);
    server.add_user("carl", &["CLIENT"]);
    let login = json!({"username": "carl", "password": password_of("carl")});
    let token = gateway.anonymous().post("/auth/login", &login).expect(200)["access_token"].clone();
    let client = through(&gateway, token.as_str().unwrap());
    let owner = through(&gateway, &token_of(&server, "olga", &["WORKER_OWNER"]));
    let worker = FakePoolWorker::registered(&owner, "worker-a");
    let id = client.post("/jobs", &json!({"payload": {"n": 1}})).expect(201)["id"].clone();
    worker.work_off(&json!({"ok": true}));
    assert_eq!(client.get(&format!("/jobs/{id}?wait_ms=30000")).expect(200)["status"], "completed");
    assert_eq!(client.get(&format!("/jobs/{id}/receipt")).expect(200)["worker_id"], worker.id);
    let same = Request::new("GET", "/jobs").header("x-request-id", "of-the-caller");
    assert_eq!(client.send(same).header("x-request-id"), Some("of-the-caller"));
    assert!(
        server.log().contains("of-the-caller") && gateway.log().contains("of-the-caller"),
        "in both logs"
    );
    let _ = server.admin().patch("/users/carl", &json!({"active": false})).expect(200);
    assert_eq!(client.get("/jobs").problem(401)["detail"], "Invalid token", "at once, here too");
    assert_eq!(gateway.anonymous().get("/jobs").problem(401)["detail"], "Invalid token");
    assert_eq!(through(&gateway, "wrong-wrong-wrong").get("/jobs").problem(401)["detail"], "Invalid token");
}

/// P16, I9: one token asks so often, then it is told when to come again; others are served.
#[test]
fn a_token_has_its_rate() {
    let server = Server::start();
    let gateway =
        Gateway::before(&server, &["--rate-per-key", "1", "--burst", "5", "--rate-per-address", "0"]);
    let [often, seldom] = ["ann", "bob"].map(|name| through(&gateway, &token_of(&server, name, &["CLIENT"])));
    let refused = (0..100).map(|_| often.get("/jobs")).find(|answer| answer.status == 429).unwrap();
    let _ = refused.problem(429);
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    assert_eq!(seldom.get("/jobs").status, 200);
}

/// P16: no bytes have a request reach the server that the gateway did not see, or one with headers that its caller chose.
#[test]
fn nothing_is_smuggled_past_the_gateway() {
    let server = Server::start();
    let gateway = Gateway::before(&server, &[]);
    let token = server.admin_token();
    let user =
        json!({"username": "smuggled", "password": password_of("smuggled"), "roles": ["ADMIN"]}).to_string();
    let smuggled = format!(
        "POST /users HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\n\r\n{user}",
        user.len()
    );
    let good = format!("Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n");
    let post = |lines: &str| format!("POST /jobs HTTP/1.1\r\n{good}{lines}\r\n");
    let mut attempts: Vec<String> =
        LENGTHS.iter().map(|lines| post(lines) + "0\r\n\r\n" + &smuggled).collect();
    attempts.extend([
        // Chunks that end in two places.
        post("Transfer-Encoding: chunked\r\n") + "0\r\nX: y\n\r\n" + &smuggled,
        post("Transfer-Encoding: chunked\r\n") + "0;\n" + &smuggled,
        post("Transfer-Encoding: chunked\r\n") + "00000000000000000000000000000000f\r\n" + &smuggled,
        post("Transfer-Encoding: chunked\r\n") + "-1\r\n" + &smuggled,
        post("Transfer-Encoding: chunked\r\n") + "1\r\nZZ\r\n0\r\n\r\n" + &smuggled,
        post("Transfer-Encoding: chunked\r\n") + "1\nZ\n0\n\n" + &smuggled,
        // Heads that end in two places.
        format!("GET /jobs HTTP/1.1\r\n{good}X: y\n\n{smuggled}"),
        format!("GET /jobs HTTP/1.1\n{}\n{smuggled}", good.replace('\r', "")),
        format!("GET /jobs HTTP/1.1\r\n{good}X: \r\n\t\r\n\r\n{smuggled}").replace("\r\n\r\n", "\r\n\n"),
        format!("GET /jobs HTTP/1.1\r\n{good}X: a\0\r\n{smuggled}"),
        format!("GET /jobs\r\nX: y HTTP/1.1\r\n{good}\r\n"),
        format!("GET http://127.0.0.1/users HTTP/1.1\r\n{good}\r\n"),
        format!("GET /jobs HTTP/1.1\r\n{good}Host: evil.example\r\n\r\n"),
        format!("GET /jobs HTTP/1.1\r\n{good}Authorization: Bearer x\r\n\r\n"),
    ]);
    for attempt in &attempts {
        let answers = exchange(&gateway, attempt);
        let is_refused = answers.is_empty() || answers.starts_with("HTTP/1.1 4");
        assert!(is_refused && answers.matches("HTTP/1.1 ").count() <= 1, "{attempt:?}\n{answers}");
    }
    let users = server.admin().get("/users").expect(200);
    assert_eq!(users["users"], json!([]), "one got past");
    assert!(!server.admin().get("/metrics").text().contains(r#"route="/users",method="POST""#));
    // What stands in a body is never a request.
    let as_body = post(&format!("Content-Length: {}\r\nConnection: close\r\n", smuggled.len())) + &smuggled;
    assert!(ask(&gateway, &as_body).starts_with("HTTP/1.1 422"));
    assert_eq!(server.admin().get("/users").expect(200)["users"], json!([]));
}

/// P16, P1: a header that a proxy might have set is not believed when a caller sets it, and none gets into an answer.
#[test]
fn headers_are_not_injected() {
    let server = Server::start();
    let gateway = Gateway::before(&server, &[]);
    let client = through(&gateway, &token_of(&server, "ann", &["CLIENT"]));
    for (name, value) in [
        ("x-forwarded-for", "10.0.0.1, 127.0.0.1"),
        ("forwarded", "for=10.0.0.1;host=evil.example;proto=https"),
        ("x-forwarded-host", "evil.example"),
        ("x-real-ip", "10.0.0.1"),
        ("x-http-method-override", "DELETE"),
        ("x-original-url", "/users"),
    ] {
        let answer = client.send(Request::new("GET", "/jobs").header(name, value));
        assert_eq!(answer.expect(200)["jobs"], json!([]), "{name}");
    }
    // What is only for the gateway does not go further: then the server knows nobody.
    let stripped = client.send(Request::new("GET", "/jobs").header("connection", "authorization, host"));
    let _ = stripped.problem(401);
    for path in
        ["/jobs/%0d%0aSet-Cookie:%20x=y", "/jobs?after=%0d%0aSet-Cookie:%20x=y", "/%0d%0a%0d%0a<html>"]
    {
        let answer = client.get(path);
        assert!(answer.status < 500 && answer.header("set-cookie").is_none(), "{path}: {answer:?}");
    }
    for id in ["a b", "a%0d%0ab", &"x".repeat(65), "\u{7f}"] {
        let answer = client.send(Request::new("GET", "/jobs").header("x-request-id", id));
        assert_ne!(answer.header("x-request-id"), Some(id));
    }
    assert_eq!(client.send(Request::new("GET", "/jobs").header("host", "evil.example")).status, 403);
    assert_eq!(
        client.send(Request::new("GET", "/jobs").header("origin", "https://evil.example")).status,
        403
    );
}

/// Sends bytes as they are and nothing after them, and reads all that comes back.
fn exchange(gateway: &Gateway, bytes: &str) -> String {
    let mut connection = connect(gateway);
    let _ = connection.write_all(bytes.as_bytes());
    let _ = connection.shutdown(Shutdown::Write);
    read(connection)
}

/// The same, staying for the answer: whoever says nothing more may have gone, and is told nothing.
fn ask(gateway: &Gateway, bytes: &str) -> String {
    let mut connection = connect(gateway);
    connection.write_all(bytes.as_bytes()).unwrap();
    read(connection)
}

fn connect(gateway: &Gateway) -> TcpStream {
    let connection = TcpStream::connect(gateway.address().get()).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    connection
}

fn read(mut connection: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = connection.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// What says how long a body is, in ways that two readers read in two ways.
const LENGTHS: [&str; 17] = [
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked, identity\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Transfer-Encoding: xchunked\r\n",
    "Transfer-Encoding : chunked\r\n",
    "Transfer-Encoding:\u{b}chunked\r\n",
    "X: y\r\n Transfer-Encoding: chunked\r\n",
    "X: y\nTransfer-Encoding: chunked\r\n",
    "Content-Length: 0\r\nContent-Length: 5\r\n",
    "Content-Length: 5, 5\r\n",
    "Content-Length: +5\r\n",
    "Content-Length: 0x5\r\n",
    "Content-Length: -5\r\n",
    "Content-Length : 5\r\n",
];
