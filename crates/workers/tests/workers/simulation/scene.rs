//! A worker in this process, its master, and a directory.

use super::master::StandIn;
use crate::worker_binary;
use muster_model::Timestamp;
use muster_worker_kit::clock::instant_now;
use muster_worker_kit::{http::Servers, process::Guards};
use muster_workers::simulation::{
    Master, RegisterRequest, Secret,
    core::Over,
    render::{Exec, Renderer, Synthetic},
    runtime::{Options, Worker},
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// What a worker is to be.
pub(crate) struct Cast {
    pub(crate) renderer: Renderer,
    pub(crate) is_pushed_to: bool,
    pub(crate) slots: u32,
    pub(crate) output_root: Option<PathBuf>,
    /// What the master answers, once each; see [`StandIn::start`].
    pub(crate) answers: Vec<(&'static str, u16)>,
}

impl Cast {
    /// One that asks for its tasks.
    pub(crate) fn of(renderer: Renderer) -> Self {
        Self { renderer, is_pushed_to: false, slots: 1, output_root: None, answers: Vec::new() }
    }
}

pub(crate) struct Scene {
    pub(crate) master: StandIn,
    /// Another server of that master, which the worker is told of too.
    pub(crate) next: StandIn,
    pub(crate) directory: TempDir,
    leave: CancellationToken,
    pub(crate) worker: JoinHandle<Over>,
    /// Where tasks are pushed to.
    pub(crate) endpoint: Option<String>,
}

impl Scene {
    /// A worker that renders as fast as it can.
    pub(crate) async fn synthetic() -> Self {
        Self::start(|_| Cast::of(synthetic())).await
    }

    /// One whose master answers as told.
    pub(crate) async fn answered(answers: &[(&'static str, u16)]) -> Self {
        Self::start(|_| Cast { answers: answers.to_vec(), ..Cast::of(synthetic()) }).await
    }

    /// A worker that has a shell do its work.
    pub(crate) async fn exec(script: &str) -> Self {
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        let cast = |directory: &Path| {
            let guards = Guards {
                program: worker_binary(),
                args: vec!["guard".into()],
                lock: directory.join("guards.lock"),
            };
            Cast::of(Renderer::Exec(Exec { argv, guards }))
        };
        Self::start(cast).await
    }

    pub(crate) async fn start(cast: impl FnOnce(&Path) -> Cast) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let cast = cast(directory.path());
        let master = StandIn::start(&cast.answers);
        let listener =
            if cast.is_pushed_to { Some(TcpListener::bind("127.0.0.1:0").await.unwrap()) } else { None };
        let endpoint = listener.as_ref().map(|listener| format!("http://{}", listener.local_addr().unwrap()));
        let who = RegisterRequest {
            worker: "W1".into(),
            role: "simulation".into(),
            cameras: 1,
            gpu: "none".into(),
            slots: cast.slots,
            endpoint: endpoint.as_deref().map(Into::into),
        };
        let started = instant_now();
        let now = Arc::new(move || Timestamp(started.elapsed().as_millis().try_into().unwrap()));
        let options = Options { who, output_root: cast.output_root, listener, now };
        let next = master.beside();
        let servers = Servers::parse([master.url.as_str(), &next.url]).unwrap();
        let client = servers.client().no_proxy().build().unwrap();
        let link = Master::new(client, servers, "W1", Secret::new("enrol-me"));
        let leave = CancellationToken::new();
        let worker = tokio::spawn(Worker::new(options, link, cast.renderer).run(leave.clone()));
        Self { master, next, directory, leave, worker, endpoint }
    }

    /// Where a chunk's files go.
    pub(crate) fn chunk(&self, chunk: u64) -> PathBuf {
        self.directory.path().join(format!("chunks/{chunk}"))
    }

    /// A task `t<chunk>` of frames, with ten ids more than two persons per frame take.
    pub(crate) fn task(&self, chunk: u64, (start, end): (u64, u64)) -> Value {
        let first = chunk * 1_000_000;
        let ids = [first, first + (end - start) * 2 + 10];
        json!({"taskId": format!("t{chunk}"), "sessionId": "demo", "scenario": {"fps": 25},
            "frameRange": [start, end], "globalIdChunk": {"chunkId": chunk, "range": ids}, "attempt": 1, "epoch": 1,
            "outputDirectory": self.chunk(chunk), "replay": false})
    }

    /// Asks the worker to leave and waits until it has.
    pub(crate) async fn leave(&mut self) -> Over {
        self.leave.cancel();
        (&mut self.worker).await.unwrap()
    }

    /// All persons in the labels of a chunk.
    pub(crate) fn persons(&self, chunk: u64) -> Vec<u64> {
        let labels = fs::read_dir(self.chunk(chunk).join("labels")).unwrap();
        let persons = |path: PathBuf| {
            let label: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            let persons = label["persons"].as_array().unwrap().clone();
            persons.into_iter().map(|person| person["id"].as_u64().unwrap())
        };
        labels.flat_map(|entry| persons(entry.unwrap().path())).collect()
    }

    /// Processes in whose environment the scene's directory stands.
    pub(crate) fn processes(&self) -> Vec<String> {
        processes_of(self.directory.path())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

pub(crate) fn synthetic() -> Renderer {
    Renderer::Synthetic(Synthetic { frames_per_second: 100_000, persons_per_frame: 2 })
}

/// Processes, zombies left out, that work in a directory: it stands in their environment.
pub(crate) fn processes_of(directory: &Path) -> Vec<String> {
    let mark = format!("MUSTER_OUTPUT_DIR={}", directory.display());
    let is_marked = |path: &PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|window| window == mark.as_bytes())
    };
    let name =
        |path: PathBuf| fs::read_to_string(path.join("cmdline")).unwrap_or_default().replace('\0', " ");
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.filter(is_marked).map(name).filter(|name| !name.starts_with("muster ")).collect()
}
