//! The doors of a server: foreign pages, overload, what is no HTTP, and TLS before it (I5, I7, I9, I11).

use crate::{Route, routes};
use muster_tests::{AgentSetup, Client, FakeNode, Request, Server, muster_command, until};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};
use tempfile::TempDir;

fn ask(client: &Client, route: &Route) -> u16 {
    let request = Request::new(&route.method, &route.path);
    let request = if route.method == "GET" { request } else { request.json(&json!({})) };
    client.send(request).status
}

/// I7: without a token every route but the open ones is 401; a wrong token opens none.
#[test]
fn every_route_but_the_open_ones_needs_a_token() {
    let server = Server::start();
    let open = ["/healthz", "/readyz", "/openapi.json", "/docs", "/"];
    for route in routes(&server) {
        // A login is open and wants a name and a password (P1).
        let is_login = route.path == "/auth/login";
        // A proof is for whoever made up a question (S18).
        let is_proof = route.path == "/leader-proof";
        let is_open = is_login || is_proof || open.contains(&route.path.as_str());
        let expected = match () {
            () if is_login => 422,
            () if is_proof => 400,
            () if is_open => 200,
            () => 401,
        };
        assert_eq!(ask(&server.anonymous(), &route), expected, "{} {}", route.method, route.path);
        let wrong = server.anonymous().with_token("wrong-wrong-wrong-wrong");
        assert_eq!(ask(&wrong, &route), expected, "{} {}", route.method, route.path);
        assert_eq!(route.keys.is_empty(), is_open, "the description of {}", route.path);
    }
    assert_eq!(server.database().count("SELECT count(*) FROM pcs"), 0);
}

/// I7: another origin or a forged host is refused on every verb and route, whatever the token.
#[test]
fn foreign_pages_and_forged_names_are_refused() {
    let server = Server::start();
    let host = server.anonymous().url().replace("http://", "");
    for route in routes(&server) {
        for verb in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] {
            for (header, value) in [
                ("host", "evil.example"),
                ("host", "127.0.0.1.evil.example"),
                ("origin", "https://evil.example"),
                ("origin", "null"),
                ("origin", "http://127.0.0.1:1"),
            ] {
                let answer = server.admin().send(Request::new(verb, &route.path).header(header, value));
                assert_eq!(answer.status, 403, "{verb} {} {header}: {value}", route.path);
                assert!(answer.header("access-control-allow-origin").is_none());
            }
        }
    }
    let same = Request::new("GET", "/api/runs").header("origin", &format!("http://{host}"));
    assert_eq!(server.admin().send(same).status, 200);
    let as_node_fetches = Request::new("GET", "/api/runs").header("sec-fetch-mode", "cors");
    assert_eq!(server.admin().send(as_node_fetches).status, 200);
    let port = host.rsplit(':').next().unwrap();
    let by_name = Request::new("GET", "/api/runs").header("host", &format!("localhost:{port}"));
    assert_eq!(server.admin().send(by_name).status, 200);
}

/// I7: names and origins can be allowed by settings.
#[test]
fn names_and_origins_can_be_allowed() {
    let settings =
        [("MUSTER_SERVER__HOSTS", "muster.example"), ("MUSTER_SERVER__ORIGINS", "https://board.example")];
    let server = Server::with(&settings);
    let get = |header: &str, value: &str| {
        server.admin().send(Request::new("GET", "/api/runs").header(header, value))
    };
    assert_eq!(get("host", "muster.example").status, 200);
    assert_eq!(get("host", "other.example").status, 403);
    let allowed = get("origin", "https://board.example");
    assert_eq!(allowed.status, 200);
    assert_eq!(allowed.header("access-control-allow-origin"), Some("https://board.example"));
    assert_eq!(get("origin", "https://other.example").status, 403);
}

/// I7: a token stands in one header, once; two of them are none.
#[test]
fn a_token_is_given_once() {
    let server = Server::start();
    let bearer = format!("Bearer {}", server.admin_token());
    let twice =
        Request::new("GET", "/api/runs").header("authorization", &bearer).header("authorization", &bearer);
    let _ = server.anonymous().send(twice).problem(401);
    let in_query = format!("/api/runs?access_token={}", server.admin_token());
    let _ = server.anonymous().get(&in_query).problem(401);
}

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

/// I5, I11: agents and client commands speak https, and only to whom the certificates vouch for.
#[test]
fn agents_and_commands_speak_https() {
    let server = Server::start();
    let proxy = Proxy::start(&server);
    let trusted = proxy.certificate.to_str().unwrap();
    let agent = AgentSetup::new(&proxy.url, "PC-01").env("NODE_AGENT_SHARED_SECRET", &server.node_secret());
    let _agent = agent.devices("simulated:3").env("SSL_CERT_FILE", trusted).start();
    let submit = || {
        let mut command = muster_command();
        command.args(["run", "submit", "--workflow", "login_settings_screenshot_v1", "--wait", "--json"]);
        command.args(["--server", &proxy.url]).env("MUSTER_TOKEN", server.admin_token());
        command
    };
    muster_tests::until("the agent has told of its devices", || {
        (server.database().count("SELECT count(*) FROM devices") == 3).then_some(())
    });
    let done = submit().env("SSL_CERT_FILE", trusted).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(server.database().count("SELECT count(*) FROM task_devices WHERE status = 'completed'"), 3);
    let stranger = submit().output().unwrap();
    assert_eq!(stranger.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&stranger.stderr).contains("certificate"));
}

/// TLS in front, bytes behind.
struct Proxy {
    child: Child,
    url: String,
    certificate: PathBuf,
    _directory: TempDir,
}

impl Proxy {
    fn start(server: &Server) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let certificate = make_certificate(directory.path());
        let upstream = server.anonymous().url();
        let port = upstream.rsplit(':').next().unwrap();
        let mut child = Command::new("python3")
            .args(["-c", SCRIPT, port])
            .current_dir(directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = format!("https://localhost:{}", line.trim());
        Self { child, url, certificate, _directory: directory }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn make_certificate(directory: &Path) -> PathBuf {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", "key.pem", "-out", "certificate.pem"])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    directory.join("certificate.pem")
}

const SCRIPT: &str = r#"
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate.pem", "key.pem")
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)

def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass

def serve(plain):
    try:
        secure = context.wrap_socket(plain, server_side=True)
    except (OSError, ssl.SSLError):
        return
    upstream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    threading.Thread(target=pump, args=(secure, upstream), daemon=True).start()
    pump(upstream, secure)

while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
"#;
