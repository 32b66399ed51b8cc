//! The doors of a server: foreign pages, overload, what is no HTTP, and TLS before it (I5, I7, I9, I11).

use muster_tests::{AgentSetup, FakeNode, Request, Server, muster_command, until, wait_until};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};
use tempfile::TempDir;

/// I7: another origin or a forged host is refused on every verb and route, whatever the token.
#[test]
fn foreign_pages_and_forged_names_are_refused() {
    let server = Server::start();
    let host = server.anonymous().url().replace("http://", "");
    for route in server.routes() {
        for verb in ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] {
            for (header, value) in [
                ("host", "evil.example"),
                ("host", "127.0.0.1.evil.example"),
                ("origin", "https://evil.example"),
                ("origin", "null"),
                ("origin", "http://127.0.0.1:1"),
            ] {
                let answer =
                    server.admin().send(Request::new(verb, &route.of_nobody()).header(header, value));
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

/// I7: settings allow further host names and origins; all others stay refused.
#[test]
fn names_and_origins_can_be_allowed() {
    let server = Server::with(&[
        ("MUSTER_SERVER__HOSTS", "muster.example"),
        ("MUSTER_SERVER__ORIGINS", "https://board.example"),
    ]);
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

/// I9: too much at once is 503 with Retry-After, and probes still answer.
#[test]
fn overload_says_when_to_come_again() {
    let server = Server::with(&[("MUSTER_SERVER__MAX_REQUESTS", "1")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    // A request that waits for work does not block the responses to others.
    let waiting =
        thread::spawn(move || node.ask(&json!({"node_id": "PC-01", "max_jobs": 1, "wait_ms": 3000})));
    wait_until("the server answers", || server.admin().get("/api/runs").status == 200);
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
    wait_until("there is room again", || server.admin().get("/api/runs").status == 200);
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
    muster_tests::wait_until("the agent has told of its devices", || {
        server.database().count("SELECT count(*) FROM devices") == 3
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
