//! Secrets: I6.

use muster_tests::{FakeNode, Request, Server, muster_command};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt};

/// I6: generated secrets are files for their owner only, kept over a restart, named but never shown.
#[test]
fn generated_secrets_are_kept_and_not_shown() {
    let mut server = Server::with(&[("MUSTER_LOG", "trace")]);
    let secrets = [server.node_secret(), server.admin_token()];
    assert_ne!(secrets[0], secrets[1]);
    for file in ["node-secret", "admin-token"] {
        let path = server.data().join(file);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(server.log().contains(file), "named in the log");
    }
    assert_eq!(fs::metadata(server.data()).unwrap().permissions().mode() & 0o077, 0);
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let rotated = server.admin().post("/api/nodes/PC-01/secret", &json!({})).expect(200);
    let own = rotated["secret"].as_str().unwrap();
    let _ = server
        .anonymous()
        .with_token(own)
        .post("/api/nodes/pull", &json!({"node_id": "PC-01", "max_jobs": 0}));
    let refused =
        Request::new("POST", &format!("/api/runs?token={}", secrets[1])).header("x-secret", &secrets[1]);
    let refused = server.admin().send(refused.json(&json!({"workflow_id": secrets[1], "x": 1})));
    let metrics = server.admin().get("/metrics").text();
    let line = fs::read(format!("/proc/{}/cmdline", server.id())).unwrap();
    server.kill9();
    server.restart();
    assert_eq!([server.node_secret(), server.admin_token()], secrets);
    for secret in secrets.iter().map(String::as_str).chain([own]) {
        assert!(!server.log().contains(secret), "in the log");
        assert!(!metrics.contains(secret), "in the metrics");
        assert!(!String::from_utf8_lossy(&line).contains(secret), "in ps");
        assert!(!refused.text().contains(secret), "in an error: {}", refused.text());
    }
}

/// I6: secrets of the environment win over files, are not written down, and must be worth the name.
#[test]
fn secrets_of_the_environment_win() {
    let (node, admin) = ("node-secret-of-the-environment", "admin-token-of-the-environment");
    let server = Server::with(&[("NODE_AGENT_SHARED_SECRET", node), ("MUSTER_ADMIN_TOKEN", admin)]);
    assert!(!server.data().join("node-secret").exists() && !server.data().join("admin-token").exists());
    let caller = |token: &str| server.anonymous().with_token(token);
    assert_eq!(caller(admin).get("/api/runs").status, 200);
    assert_eq!(caller(node).get("/api/nodes/pull?node_id=PC-01").status, 200);
    assert!(!server.log().contains(node) && !server.log().contains(admin));
    for (name, value) in
        [("NODE_AGENT_SHARED_SECRET", "short"), ("MUSTER_ADMIN_TOKEN", ""), ("MUSTER_ADMIN_TOKEN", node)]
    {
        let directory = tempfile::tempdir().unwrap();
        let mut command = muster_command();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
        let output = command.env("NODE_AGENT_SHARED_SECRET", node).env(name, value).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}={value}");
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(!words.contains(node) && !words.contains("=short"), "{words}");
    }
}
