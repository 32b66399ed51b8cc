//! Uploads to a backend that speaks N21, with all the trouble it can make.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, StatusCode},
    response::{IntoResponse, Response},
    routing::{any, post},
};
use futures_util::StreamExt;
use muster_agent::{
    Job,
    driver::{Cause, StepFailure},
    execute::{Upload, Uploads as _},
    upload::Uploads,
};
use muster_model::Millis;
use muster_worker_kit::http::Servers;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// A backend in this process.
#[derive(Clone, Default)]
struct Backend(Arc<Mutex<Memory>>);

#[derive(Default)]
struct Memory {
    /// Answers to come instead of the honest ones.
    ask_faults: VecDeque<u16>,
    put_faults: VecDeque<Fault>,
    /// Status of the response to a query for the upload's progress, if it is not the honest one.
    head: Option<u16>,
    asked: Vec<Value>,
    /// The address that was asked, each time.
    asked_at: Vec<String>,
    /// The `Content-Range` of each upload.
    puts: Vec<Option<String>>,
    bytes: Vec<u8>,
    complete: bool,
}

enum Fault {
    /// Answers so without reading.
    Status(u16),
    /// Takes so many bytes and then breaks off.
    After(usize),
    /// Takes everything, and the answer is lost.
    AnswerLost,
}

impl Backend {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap()
    }

    /// Serves at one more address.
    async fn serve(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().route("/api/nodes/artifacts", post(ask)).route("/up", any(upload));
        let router = router.with_state((self.clone(), url.clone()));
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }
}

type Served = State<(Backend, String)>;

async fn ask(State((backend, url)): Served, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    assert_eq!(headers["authorization"], "Bearer the-secret-of-nodes");
    let mut memory = backend.memory();
    memory.asked.push(body);
    memory.asked_at.push(url.clone());
    if let Some(status) = memory.ask_faults.pop_front().filter(|status| *status != HONEST) {
        return problem(status, "not now or never");
    }
    let upload_url = format!("{url}/up?signature=hunter2");
    Json(json!({"upload_url": upload_url, "storage_path": "a/b.png", "public_url": "http://x/a/b.png",
        "expires_at": 1}))
    .into_response()
}

async fn upload(State((backend, _)): Served, method: Method, headers: HeaderMap, body: Body) -> Response {
    assert!(!headers.contains_key("authorization"), "the node's secret is nobody's business here");
    if method == Method::HEAD {
        let memory = backend.memory();
        if let Some(status) = memory.head {
            return StatusCode::from_u16(status).unwrap().into_response();
        }
        let complete = if memory.complete { "?1" } else { "?0" };
        return [("upload-offset", memory.bytes.len().to_string()), ("upload-complete", complete.to_owned())]
            .into_response();
    }
    assert_eq!(headers["content-type"], "image/png");
    let fault = {
        let mut memory = backend.memory();
        let range = headers.get("content-range").map(|range| range.to_str().unwrap().to_owned());
        if range.is_none() {
            memory.bytes.clear();
        }
        memory.puts.push(range);
        memory.put_faults.pop_front()
    };
    match fault {
        Some(Fault::Status(status)) => return problem(status, "the address has expired"),
        Some(Fault::After(count)) => {
            take(&backend, body, count).await;
            return problem(503, "restarting");
        }
        _ => take(&backend, body, usize::MAX).await,
    }
    backend.memory().complete = true;
    if matches!(fault, Some(Fault::AnswerLost)) {
        return problem(502, "lost");
    }
    Json(json!({})).into_response()
}

async fn take(backend: &Backend, body: Body, count: usize) {
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let Ok(piece): Result<Bytes, _> = piece else { return };
        let mut memory = backend.memory();
        let room = count.saturating_sub(memory.bytes.len());
        memory.bytes.extend(piece.iter().take(room));
        if piece.len() >= room {
            return;
        }
    }
}

fn problem(status: u16, detail: &str) -> Response {
    let body = Json(json!({"type": "x", "title": "x", "status": status, "detail": detail}));
    (StatusCode::from_u16(status).unwrap(), body).into_response()
}

fn job() -> Job {
    Job {
        task: "t1".into(),
        run: "r1".into(),
        device: "d1".into(),
        handle: "d1".into(),
        workflow: "w".into(),
        params: "{}".into(),
        timeout: Millis(1000),
        attempt: 2,
        token: Some("token".into()),
    }
}

/// A picture of 200 KB that is nowhere the same.
fn content() -> Vec<u8> {
    (0..50_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

async fn upload_to(backend: &Backend, file: &Path) -> Result<muster_agent::Artifact, StepFailure> {
    upload_at(&backend.serve().await, file).await
}

async fn upload_at(servers: &str, file: &Path) -> Result<muster_agent::Artifact, StepFailure> {
    let servers = Servers::parse([servers]).unwrap();
    let client = servers.client().no_proxy().build().unwrap();
    let uploads = Uploads::new(muster_agent::Backend::new(client, servers, "PC-01", "the-secret-of-nodes"));
    assert!(!format!("{uploads:?}").contains("the-secret"));
    let (job, cancel) = (job(), CancellationToken::new());
    let storage_path = Some("a/{kind}.{ext}");
    let (kind, content_type, name) = ("screenshot", "image/png", Some("SHOT"));
    uploads.upload(Upload { job: &job, file, kind, content_type, name, storage_path, cancel: &cancel }).await
}

async fn upload_content(backend: &Backend) -> Result<muster_agent::Artifact, StepFailure> {
    let (_directory, file) = shot();
    upload_to(backend, &file).await
}

fn shot() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shot.png");
    std::fs::write(&file, content()).unwrap();
    (directory, file)
}

/// N21: the agent asks with its fence and the file's hash, and uploads without any secret but the address.
#[tokio::test]
async fn a_file_goes_up() {
    let backend = Backend::default();
    let artifact = upload_content(&backend).await.unwrap();
    assert_eq!((artifact.kind.as_str(), artifact.storage_path.as_str()), ("screenshot", "a/b.png"));
    assert_eq!(artifact.public_url, "http://x/a/b.png");
    let memory = backend.memory();
    assert!(memory.bytes == content());
    let sha256 = memory.asked[0]["sha256"].as_str().unwrap();
    assert_eq!(sha256.len(), 64);
    let expected = json!({"node_id": "PC-01", "task_id": "t1", "attempt": 2, "lease_token": "token",
        "kind": "screenshot", "content_type": "image/png", "size": 200_000, "sha256": sha256, "name": "SHOT",
        "storage_path": "a/{kind}.{ext}"});
    assert_eq!(memory.asked, [expected]);
}

/// N21: what was cut short goes on where it stood, and what is complete is not sent again.
#[tokio::test]
async fn an_upload_goes_on() {
    let backend = Backend::default();
    backend.memory().put_faults.extend([Fault::After(70_000), Fault::AnswerLost]);
    upload_content(&backend).await.unwrap();
    let memory = backend.memory();
    assert!(memory.bytes == content());
    let ranges: Vec<_> = memory.puts.iter().map(|range| range.as_deref()).collect();
    assert_eq!(ranges, [None, Some("bytes 70000-199999/200000")]);
    assert_eq!(memory.asked.len(), 3);
}

/// N21: trouble that may pass is waited out, and an address that expired is replaced.
#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let one = async |ask: u16, put: &[u16]| {
        let backend = Backend::default();
        backend.memory().ask_faults.push_back(ask);
        backend.memory().put_faults.extend(put.iter().copied().map(Fault::Status));
        upload_content(&backend).await.unwrap();
        assert!(backend.memory().bytes == content());
    };
    tokio::join!(one(503, &[403, 403]), one(429, &[503]), one(408, &[507]), one(500, &[408]));
}

/// N21: a backend that cannot tell how far an upload is is sent everything.
#[tokio::test]
async fn a_backend_without_offsets_is_sent_everything() {
    let one = async |head: u16| {
        let backend = Backend::default();
        backend.memory().head = Some(head);
        backend.memory().put_faults.push_back(Fault::After(70_000));
        upload_content(&backend).await.unwrap();
        assert!(backend.memory().bytes == content());
        assert_eq!(backend.memory().puts, [None, None], "{head}");
    };
    tokio::join!(one(403), one(404), one(405), one(501));
}

/// N21, S19: an upload that broke off with its server goes on at the next one, where it was; one that is not there from
/// the beginning is passed over.
#[tokio::test]
async fn an_upload_goes_on_at_the_next_server() {
    let backend = Backend::default();
    let (one, two) = (backend.serve().await, backend.serve().await);
    backend.memory().put_faults.push_back(Fault::After(70_000));
    backend.memory().ask_faults.extend([HONEST, 503]);
    let (_directory, file) = shot();
    upload_at(&format!("http://127.0.0.1:1,{one},{two}"), &file).await.unwrap();
    let memory = backend.memory();
    assert!(memory.bytes == content());
    assert_eq!(memory.asked_at, [one.clone(), one, two]);
    assert!(memory.puts[1].as_deref().unwrap().starts_with("bytes "), "{:?}", memory.puts);
}

/// N21, N13: any other refusal fails the step, in the words of the refusal.
#[tokio::test]
async fn a_refusal_is_told() {
    for status in [400, 401, 404, 409, 422] {
        let backend = Backend::default();
        backend.memory().ask_faults.push_back(status);
        let failure = upload_content(&backend).await.unwrap_err();
        assert_eq!(failure.cause, Cause::Other);
        let words = format!("was answered {status}: not now or never");
        assert!(failure.message.contains(&words), "{failure}");
    }
    let backend = Backend::default();
    // More than are needed: where a refusal overtakes the body, the client sees a broken connection instead.
    backend.memory().put_faults.extend([403; 99].map(Fault::Status));
    let failure = upload_content(&backend).await.unwrap_err();
    assert!(failure.message.contains("expired") && !failure.message.contains("hunter2"), "{failure}");
    let backend = Backend::default();
    backend.memory().head = Some(409);
    let failure = upload_content(&backend).await.unwrap_err();
    assert!(failure.message.contains("a/b.png"), "{failure}");
    let failure = upload_to(&Backend::default(), Path::new("/no/such/file")).await.unwrap_err();
    assert!(failure.message.contains("/no/such/file"), "{failure}");
}

/// N18, N21: an upload ends when it is asked to, also while nobody answers.
#[tokio::test]
async fn an_upload_can_be_cancelled() {
    let file = tempfile::NamedTempFile::new().unwrap();
    // Takes connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let servers = Servers::parse([url.as_str()]).unwrap();
    let client = servers.client().no_proxy().build().unwrap();
    let uploads = Uploads::new(muster_agent::Backend::new(client, servers, "PC-01", "the-secret-of-nodes"));
    let (job, cancel) = (job(), CancellationToken::new());
    let upload = Upload {
        job: &job,
        file: file.path(),
        kind: "screenshot",
        content_type: "image/png",
        name: None,
        storage_path: None,
        cancel: &cancel,
    };
    let asked = async {
        let _connection = silent.accept().await.unwrap();
        cancel.cancel();
    };
    let (done, ()) = tokio::join!(uploads.upload(upload), asked);
    assert_eq!(done.unwrap_err().cause, Cause::Cancelled);
}

/// No fault, where a later one is wanted.
const HONEST: u16 = 0;
