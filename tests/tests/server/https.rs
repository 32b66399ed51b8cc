//! A server behind a reverse proxy that speaks TLS, as docs/security.md says to do it.

use muster_tests::{AgentSetup, Server, muster_command};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

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
