//! The server as scripts and service managers see it, through the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use muster_coordinator::instant_now;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// I1: one line says where; SIGTERM ends waiting pulls and streams and the process, with 0, within 10 s.
#[tokio::test]
async fn a_stop_ends_what_waits() {
    let server = Server::start();
    let pull = json!({"node_id": "PC-01", "max_jobs": 1, "wait_ms": 30_000});
    let pull = tokio::spawn(server.post("/api/nodes/pull", &pull).bearer_auth(server.node_secret()).send());
    let stream = server.get("/api/events").bearer_auth(server.admin_token()).send().await.unwrap();
    server.until_a_pull_waits().await;

    let began = instant_now();
    let status = server.terminate();
    assert_eq!(status.code(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    stream.bytes().await.unwrap();
    let pull = pull.await.unwrap().unwrap();
    assert!([StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE].contains(&pull.status()), "{pull:?}");
}

/// I1: a second server on the same data directory refuses and says why; the first goes on.
#[tokio::test]
async fn a_data_directory_has_one_server() {
    let server = Server::start();
    let second = command(server.data.path()).output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(second.stdout.is_empty());
    let words = String::from_utf8(second.stderr).unwrap();
    assert!(words.contains("in use by another muster server"), "{words}");
    assert_eq!(status(server.get("/healthz")).await, 200);
}

/// I7: each token opens its own doors; without one only the open routes answer.
#[tokio::test]
async fn each_token_opens_its_own_doors() {
    let server = Server::start();
    let (node, admin) = (server.node_secret(), server.admin_token());
    let pull = || server.post("/api/nodes/pull", &json!({"node_id": "PC-01", "max_jobs": 0}));
    let claim = || server.post("/rest/v1/rpc/claim_task_devices_for_pc", &json!({"runner_pc_name": "PC-01"}));
    for path in [
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/docs",
        "/docs/start.js",
        "/docs/scalar.js",
        "/",
        "/ui/index.html",
    ] {
        assert_eq!(status(server.get(path)).await, 200, "{path}");
    }
    for path in ["/metrics", "/api/events", "/api/runs", "/api/devices", "/api/pcs", "/api/alerts"] {
        assert_eq!(status(server.get(path)).await, 401, "{path}");
        assert_eq!(status(server.get(path).bearer_auth("wrong-wrong-wrong")).await, 401, "{path}");
        assert_eq!(status(server.get(path).bearer_auth(&node)).await, 403, "{path}");
        assert_eq!(status(server.get(path).bearer_auth(&admin)).await, 200, "{path}");
    }
    assert_eq!(status(pull()).await, 401);
    assert_eq!(status(pull().bearer_auth(&admin)).await, 403);
    assert_eq!(status(pull().bearer_auth(&node)).await, 200);
    for token in [&node, &admin] {
        assert_eq!(status(claim().header("apikey", token)).await, 200);
        assert_eq!(status(claim().bearer_auth(token)).await, 200);
    }
    assert_eq!(status(claim()).await, 401);
}

/// N3, Q15: a node's own secret opens its door, in its own name only.
#[tokio::test]
async fn a_node_secret_speaks_for_its_node() {
    let server = Server::start();
    let pull = |node: &str| server.post("/api/nodes/pull", &json!({"node_id": node, "max_jobs": 0}));
    assert_eq!(status(pull("PC-01").bearer_auth(server.node_secret())).await, 200);
    let answer = server.post("/api/nodes/PC-01/secret", &json!({})).bearer_auth(server.admin_token());
    let answer: Value = answer.send().await.unwrap().json().await.unwrap();
    let own = answer["secret"].as_str().unwrap();
    assert_eq!(status(pull("PC-01").bearer_auth(own)).await, 200);
    assert_eq!(status(pull("PC-02").bearer_auth(own)).await, 401);
}

/// I8: the description is complete within itself: whatever it refers to is in it.
#[tokio::test]
async fn the_description_is_whole() {
    let server = Server::start();
    let document: Value = server.get("/openapi.json").send().await.unwrap().json().await.unwrap();
    for reference in references(&document) {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/docs",
        "/api/events",
        "/api/nodes/pull",
        "/api/runs",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
}

/// I8: the feed goes on after `Last-Event-ID` without a gap.
#[tokio::test]
async fn the_feed_resumes() {
    let server = Server::start();
    for _ in 0..2 {
        let run = server.post("/api/runs", &json!({"workflow_id": "w", "params": {}}));
        assert_eq!(status(run.bearer_auth(server.admin_token())).await, 201);
    }
    let all = first_ids(server.get("/api/events?after=0").bearer_auth(server.admin_token())).await;
    assert_eq!(all[0], 1);
    let after = server.get("/api/events").header("last-event-id", "1").bearer_auth(server.admin_token());
    assert_eq!(first_ids(after).await[0], 2);
    let unknown = server.get("/api/events?after=999999").bearer_auth(server.admin_token());
    assert_eq!(status(unknown).await, 410);
}

/// I4: `--json` prints one document and nothing else; what fails ends with its exit code.
#[test]
fn client_commands_speak_json_and_exit_codes() {
    let server = Server::start();
    let (code, out) = server.muster(&["run", "submit", "--workflow", "w", "--json"]);
    assert_eq!(code, Some(0));
    let run: Value = serde_json::from_str(&out).unwrap();
    let id = run["run_id"].as_str().unwrap();
    let (code, out) = server.muster(&["run", "list", "--json"]);
    assert_eq!(
        (code, serde_json::from_str::<Value>(&out).unwrap()["runs"][0]["run_id"].as_str()),
        (Some(0), Some(id))
    );
    assert_eq!(server.muster(&["run", "cancel", id]).0, Some(0));
    assert_eq!(server.muster(&["run", "watch", id]).0, Some(1));
    assert_eq!(server.muster(&["run", "show", "nothing"]), (Some(5), String::new()));
    assert_eq!(server.muster(&["run", "cancel", id]).0, Some(4));
    assert_eq!(server.muster(&["run", "submit", "--workflow", "w", "--params", "{"]).0, Some(2));
    assert_eq!(server.muster(&["run", "list", "--server", "http://127.0.0.1:1"]).0, Some(3));
}

/// A server on a directory of its own.
struct Server {
    child: Child,
    url: String,
    data: TempDir,
    http: Client,
}

impl Server {
    fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut child = command(data.path()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("listening on ").unwrap().to_owned();
        Self {
            child,
            url,
            data,
            http: muster_worker_kit::http::client_for("http:").no_proxy().build().unwrap(),
        }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.url)).timeout(Duration::from_secs(15))
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.url)).timeout(Duration::from_secs(15)).json(body)
    }

    async fn until_a_pull_waits(&self) {
        let waiting = async {
            loop {
                let counts = self.get("/metrics").bearer_auth(self.admin_token()).send().await.unwrap();
                if counts.text().await.unwrap().contains("\nmuster_waiting_pulls 1\n") {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("the pull waits");
    }

    fn node_secret(&self) -> String {
        std::fs::read_to_string(self.data.path().join("node-secret")).unwrap()
    }

    fn admin_token(&self) -> String {
        std::fs::read_to_string(self.data.path().join("admin-token")).unwrap()
    }

    /// Runs a client command against this server: its exit code and what it printed.
    fn muster(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
        command.args(arguments).env("MUSTER_SERVER", &self.url).env("MUSTER_TOKEN", self.admin_token());
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    fn terminate(mut self) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    command.env_remove("NODE_AGENT_SHARED_SECRET").env_remove("MUSTER_ADMIN_TOKEN");
    command
}

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

/// The ids in the first piece of a stream.
async fn first_ids(request: RequestBuilder) -> Vec<u64> {
    let mut response: Response = request.send().await.unwrap();
    let piece = response.chunk().await.unwrap().unwrap();
    let text = String::from_utf8(piece.to_vec()).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str).map(str::to_owned);
            own.into_iter().chain(members.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
