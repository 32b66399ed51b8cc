//! Uploads and links over HTTP in one process: what depends on time, and what no client outside can bring about.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod links;

use axum::{
    Router,
    body::{Body, Bytes},
    http::{Request, header},
    response::Response,
};
use futures_util::stream;
use muster_artifacts::{
    ArtifactStore, Claim, DirectoryStore, Opened, Progress, StoragePath, StoreError, Upload,
};
use muster_coordinator::{Coordinator, ManualClock, Options};
use muster_http::{HttpSettings, HttpState, Keys, assemble};
use muster_model::{Attachment, DeviceReport, Digest, JobPayload, Name, Pull, Scope, Submission, Timestamp};
use muster_nodes::{ArtifactSettings, Artifacts, artifact_routes};
use muster_store::MemoryStore;
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tower::ServiceExt;

struct World {
    app: Router,
    /// The same, but it gives up requests that take longer than 20 ms.
    hurried: Router,
    clock: Arc<ManualClock>,
    request: Value,
}

impl World {
    /// A node that holds a job.
    async fn new(store: Arc<dyn ArtifactStore>) -> Self {
        Self::with(store, ArtifactSettings::default(), HttpSettings::default()).await
    }

    async fn with(store: Arc<dyn ArtifactStore>, settings: ArtifactSettings, http: HttpSettings) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp(NOW)));
        let by = Arc::<ManualClock>::clone(&clock);
        let memory = Arc::new(MemoryStore::new());
        let coordinator = Coordinator::start_with_clock(memory, Options::default(), by).unwrap();
        let artifacts = Artifacts::new(store, "key", settings);
        let app = |request_timeout| {
            let settings = HttpSettings { request_timeout, ..http.clone() };
            let http = HttpState::new(coordinator.clone(), Keys::new("node-secret", "admin-token"), settings);
            assemble(http, artifact_routes(artifacts.clone()))
        };
        let (app, hurried) = (app(Duration::from_secs(60)), app(Duration::from_millis(20)));
        let device = DeviceReport { device: name("d1"), handle: name("d1"), attachment: Attachment::Online };
        let pull = |devices| Pull { worker: name("PC-01"), max: 1, devices };
        while coordinator.pull(pull(Some(vec![device.clone()])), Duration::ZERO).await.is_err() {}
        coordinator.ask(submission()).await.unwrap();
        let job = coordinator.pull(pull(None), Duration::ZERO).await.unwrap().handouts.remove(0);
        let request = json!({"node_id": "PC-01", "task_id": job.task.to_string(), "attempt": 1,
            "lease_token": job.fence.to_string(), "kind": "screenshot", "content_type": "image/png", "size": 5});
        Self { app, hurried, clock, request }
    }

    /// Announces an upload by a request with this `Host`.
    async fn offer_by(&self, host: &str) -> Value {
        let request = Request::post("/api/nodes/artifacts").header(header::HOST, host);
        let request = request.header(header::AUTHORIZATION, "Bearer node-secret");
        let request = request.body(Body::from(self.request.to_string())).unwrap();
        let answer = self.app.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200);
        json_of(answer).await
    }

    async fn put(&self, body: Body) -> Response {
        let target = target_of(&self.offer_by("localhost").await["upload_url"]);
        let request = Request::put(target).header(header::HOST, "localhost");
        let request = request.header(header::CONTENT_TYPE, "image/png").body(body).unwrap();
        self.hurried.clone().oneshot(request).await.unwrap()
    }
}

/// Path and query of a URL.
fn target_of(url: &Value) -> String {
    url.as_str().unwrap().strip_prefix("http://localhost").unwrap().to_owned()
}

async fn json_of(answer: Response) -> Value {
    let body = axum::body::to_bytes(answer.into_body(), 10_000).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn submission() -> Submission {
    let payload =
        JobPayload { title: None, workflow: "w".into(), params: "{}".into(), timeout: None, schedule: None };
    let (queue, scope) = (name("default"), Scope::All);
    Submission { key: None, digest: Digest(1), queue, scope, max_attempts: None, payload }
}

/// N21: a slow upload that goes on is not cut by the limit of other requests.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_upload_is_not_cut() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(DirectoryStore::open(directory.path()).unwrap())).await;
    let pieces = stream::unfold(b"hello".iter(), |mut left| async {
        let byte = left.next()?;
        tokio::time::sleep(Duration::from_millis(30)).await;
        Some((Ok::<_, Infallible>(Bytes::from(vec![*byte])), left))
    });
    assert_eq!(world.put(Body::from_stream(pieces)).await.status(), 201);
}

/// N21: a body that breaks off leaves what came, and the sender is told where to go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_broken_body_leaves_what_came() {
    let directory = tempfile::tempdir().unwrap();
    let world = World::new(Arc::new(DirectoryStore::open(directory.path()).unwrap())).await;
    let pieces = [Ok(Bytes::from("he")), Err(io::Error::other("gone"))];
    let answer = world.put(Body::from_stream(stream::iter(pieces))).await;
    assert_eq!(answer.status(), 400);
    assert_eq!(answer.headers()["upload-offset"], "2");
}

/// A store on a disk without room.
struct FullStore;

impl ArtifactStore for FullStore {
    fn progress(&self, _: &Claim) -> Result<Progress, StoreError> {
        Ok(Progress::Partial(0))
    }

    fn resume(&self, _: &Claim, _: u64) -> Result<Box<dyn Upload>, StoreError> {
        Err(io::Error::from(io::ErrorKind::StorageFull).into())
    }

    fn read(&self, _: &StoragePath, _: u64) -> Result<Option<Opened>, StoreError> {
        Ok(None)
    }

    fn sweep(&self, _: SystemTime) -> Result<usize, StoreError> {
        Ok(0)
    }
}

/// N21, I9: a full disk is said to be full, and when to come again.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told() {
    let world = World::new(Arc::new(FullStore)).await;
    let answer = world.put(Body::from("hello")).await;
    assert_eq!(answer.status(), 507);
    assert!(answer.headers().contains_key(header::RETRY_AFTER));
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/problem+json");
}

/// The time at which every world begins.
const NOW: i64 = 1_700_000_000_000;
