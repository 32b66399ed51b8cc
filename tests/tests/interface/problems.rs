//! Refusals: I9.

use crate::routes;
use muster_tests::{FakeNode, Request, Server, until};
use serde_json::json;
use std::{io::Write, net::TcpStream, thread};

/// I9: whatever is refused, wherever, is `application/problem+json`.
#[test]
fn every_refusal_is_a_problem() {
    let server = Server::start();
    let admin = server.admin();
    let post = |bytes: &[u8]| Request::new("POST", "/api/runs").bytes(bytes.to_vec());
    let _ = admin.get("/nowhere").problem(404);
    let _ = admin.get("/ui/nowhere.js").problem(404);
    let _ = admin.get("/api/runs/").problem(404);
    let _ = admin.send(post(&vec![b' '; 1_048_577])).problem(413);
    let _ = admin.send(post(b"{")).problem(400);
    let _ = admin.send(post(b"")).problem(400);
    let _ = admin.send(post(b"{}").header("content-type", "text/plain")).problem(415);
    let _ = admin.send(post(b"{}")).problem(422);
    let _ = server.anonymous().send(post(b"{}")).problem(401);
    let _ = server.node().send(post(b"{}")).problem(403);
    let _ = admin.send(Request::new("GET", "/healthz").header("host", "evil.example")).problem(403);
    let routes = routes(&server);
    for route in &routes {
        let is_route =
            |verb: &str| routes.iter().any(|known| known.path == route.path && known.method == verb);
        for verb in ["PUT", "DELETE", "PROPFIND"].into_iter().filter(|verb| !is_route(verb)) {
            let answer = admin.send(Request::new(verb, &route.path));
            let _ = answer.problem(405);
            assert!(
                answer.header("allow").is_some_and(|allow| allow.contains(&route.method)),
                "{}",
                route.path
            );
        }
    }
}

/// I9: too much at once is 503 with Retry-After, and probes still answer.
#[test]
fn overload_says_when_to_come_again() {
    let server = Server::with(&[("MUSTER_SERVER__MAX_REQUESTS", "1")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    // Whoever waits for work keeps nobody else from being answered.
    let waiting =
        thread::spawn(move || node.ask(&json!({"node_id": "PC-01", "max_jobs": 1, "wait_ms": 3000})));
    until("the server answers", || (server.admin().get("/api/runs").status == 200).then_some(()));
    let mut unfinished = Vec::new();
    let refused = until("the server is full", || {
        // One of them finds room.
        unfinished.push(begin_to_submit(&server));
        let answer = server.admin().get("/api/runs");
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(server.anonymous().get("/healthz").status, 200);
    drop(unfinished);
    let _ = refused.problem(503);
    assert!(refused.header("retry-after").unwrap().parse::<u32>().is_ok());
    let _ = waiting.join().unwrap();
    until("there is room again", || (server.admin().get("/api/runs").status == 200).then_some(()));
    let _ = server.admin().post("/api/runs", &json!({"workflow_id": "w"})).expect(201);
}

/// A request whose body does not come.
fn begin_to_submit(server: &Server) -> TcpStream {
    let host = server.anonymous().url().replace("http://", "");
    let mut stream = TcpStream::connect(&host).unwrap();
    let token = server.admin_token();
    let head = format!(
        "POST /api/runs HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 10\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// I9: what is no HTTP is refused, and the server goes on.
#[test]
fn what_is_no_http_is_refused() {
    let server = Server::start();
    let host = server.anonymous().url().replace("http://", "");
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"POST /api/runs HTTP/1.1\r\nhost: localhost\r\ncontent-length: -5\r\n\r\n",
        b"POST /api/runs HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        if let Ok(answer) = server.anonymous().send_bytes(bytes) {
            assert!((400..500).contains(&answer.status), "{bytes:?} {answer:?}");
        }
    }
    let long = format!("GET /{} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n", "x".repeat(500_000));
    let answer = server.anonymous().send_bytes(long.as_bytes()).unwrap();
    assert!((400..500).contains(&answer.status), "{}", answer.status);
    assert_eq!(server.anonymous().get("/healthz").status, 200);
}
