//! A worker in this process, a directory, and the master of contract S: it takes whatever a worker says, and answers as
//! the test wants.

use crate::{
    stand_in::{self, Answer, Call, torn},
    support::marked_processes,
    worker_binary,
};
use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use muster_model::Timestamp;
use muster_worker_kit::{clock::instant_now, http::Servers, process::Guards};
use muster_workers::simulation::{
    Master, RegisterRequest, Secret,
    core::Over,
    render::{Exec, Renderer, Synthetic},
    runtime::{Options, Worker},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Settings of the worker in a test.
pub(super) struct Cast {
    pub(super) renderer: Renderer,
    pub(super) is_pushed_to: bool,
    pub(super) slots: u32,
    pub(super) output_root: Option<PathBuf>,
    /// Responses of the master, once each; see [`StandIn::start`].
    pub(super) answers: Vec<(&'static str, u16)>,
}

impl Cast {
    /// Worker that pulls its tasks.
    pub(super) fn of(renderer: Renderer) -> Self {
        Self { renderer, is_pushed_to: false, slots: 1, output_root: None, answers: Vec::new() }
    }
}

pub(super) struct Scene {
    pub(super) master: StandIn,
    /// Another server of that master, which the worker is told of too.
    pub(super) next: StandIn,
    pub(super) directory: TempDir,
    leave: CancellationToken,
    pub(super) worker: JoinHandle<Over>,
    /// Address that tasks are pushed to.
    pub(super) endpoint: Option<String>,
}

impl Scene {
    /// A worker that renders as fast as it can.
    pub(super) async fn synthetic() -> Self {
        Self::start(|_| Cast::of(synthetic())).await
    }

    /// One whose master answers as told.
    pub(super) async fn answered(answers: &[(&'static str, u16)]) -> Self {
        Self::start(|_| Cast { answers: answers.to_vec(), ..Cast::of(synthetic()) }).await
    }

    /// A worker that has a shell do its work.
    pub(super) async fn exec(script: &str) -> Self {
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

    pub(super) async fn start(cast: impl FnOnce(&Path) -> Cast) -> Self {
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

    /// Directory of a chunk.
    pub(super) fn chunk(&self, chunk: u64) -> PathBuf {
        self.directory.path().join(format!("chunks/{chunk}"))
    }

    /// A task `t<chunk>` of frames, with ten ids more than two persons per frame take.
    pub(super) fn task(&self, chunk: u64, frames: Range<u64>) -> Value {
        let Range { start, end } = frames;
        let first = chunk * 1_000_000;
        let ids = [first, first + (end - start) * 2 + 10];
        json!({"taskId": format!("t{chunk}"), "sessionId": "demo", "scenario": {"fps": 25},
            "frameRange": [start, end], "globalIdChunk": {"chunkId": chunk, "range": ids}, "attempt": 1, "epoch": 1,
            "outputDirectory": self.chunk(chunk), "replay": false})
    }

    /// Asks the worker to leave and waits until it has.
    pub(super) async fn leave(&mut self) -> Over {
        self.leave.cancel();
        (&mut self.worker).await.unwrap()
    }

    /// All persons in the labels of a chunk.
    pub(super) fn persons(&self, chunk: u64) -> Vec<u64> {
        let labels = fs::read_dir(self.chunk(chunk).join("labels")).unwrap();
        let persons = |path: PathBuf| {
            let label: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
            let persons = label["persons"].as_array().unwrap().clone();
            persons.into_iter().map(|person| person["id"].as_u64().unwrap())
        };
        labels.flat_map(|entry| persons(entry.unwrap().path())).collect()
    }

    /// Processes in whose environment the scene's directory stands.
    pub(super) fn processes(&self) -> Vec<String> {
        processes_of(self.directory.path())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

pub(super) fn synthetic() -> Renderer {
    Renderer::Synthetic(Synthetic { frames_per_second: 100_000, persons_per_frame: 2 })
}

/// Processes, zombies left out, that work in a directory: it stands in their environment.
pub(super) fn processes_of(directory: &Path) -> Vec<String> {
    let mut processes = marked_processes(&format!("MUSTER_OUTPUT_DIR={}", directory.display()));
    processes.retain(|name| !name.starts_with("muster "));
    processes
}

/// State of the master, with the calls that it got.
#[derive(Default)]
pub(super) struct Script {
    pub(super) calls: Vec<Call>,
    /// Tasks to be handed out.
    pub(super) tasks: VecDeque<Value>,
    /// Said once, to the next heartbeat.
    pub(super) commands: Vec<Value>,
    pub(super) factor: f64,
    pub(super) epoch: u64,
    answers: BTreeMap<&'static str, VecDeque<u16>>,
    /// Nothing but 503.
    pub(super) is_down: bool,
    /// The term is told in a header alone.
    pub(super) is_tacit: bool,
    /// Servers that were replaced and do not know it: they know nobody.
    pub(super) deposed: BTreeMap<String, u64>,
    /// Servers that say nothing at all.
    pub(super) silent: BTreeSet<String>,
    next_id: u64,
}

/// A stand-in of the master: one of its servers.
pub(super) type StandIn = stand_in::StandIn<Script>;

impl StandIn {
    /// Starts with answers that are given once each, by the end of the path; 0 is an answer that breaks off.
    pub(super) fn start(answers: &[(&'static str, u16)]) -> Self {
        let mut script = Script { factor: 1.0, epoch: 1, next_id: 9_000_000, ..Script::default() };
        for (end, status) in answers {
            script.answer_once(end, *status);
        }
        Self::with(script)
    }

    pub(super) fn hand_out(&self, task: Value) {
        self.change(|script| script.tasks.push_back(task));
    }
}

impl stand_in::Desk for Script {
    fn name(path: &str, _body: &Value) -> String {
        path.trim_start_matches("/api/v1/").to_owned()
    }

    fn calls(&mut self) -> &mut Vec<Call> {
        &mut self.calls
    }

    fn answer(&mut self, call: &Call) -> Answer {
        let response = self.respond(call);
        if self.silent.contains(&call.at) {
            return Answer::Never;
        }
        let is_pull = call.what.starts_with("GET workers/");
        match response {
            Some(response) => Answer::Now(response),
            None if is_pull => Answer::WithWork,
            None => Answer::Now(StatusCode::NOT_FOUND.into_response()),
        }
    }

    fn next_work(&mut self) -> Option<Value> {
        self.tasks.pop_front().map(|task| json!({ "task": task }))
    }

    fn sign(&self, at: &str, response: &mut Response) {
        response.headers_mut().insert("muster-epoch", self.epoch_at(at).into());
    }
}

impl Script {
    /// Has the next call whose path ends so answered so.
    pub(super) fn answer_once(&mut self, end: &'static str, status: u16) {
        self.answers.entry(end).or_default().push_back(status);
    }

    fn respond(&mut self, call: &Call) -> Option<Response> {
        let end = call.end();
        if self.is_down {
            return Some(StatusCode::SERVICE_UNAVAILABLE.into_response());
        }
        match self.answers.get_mut(end).and_then(VecDeque::pop_front) {
            Some(0) => return Some(torn()),
            Some(status) => return Some(StatusCode::from_u16(status).unwrap().into_response()),
            None => {}
        }
        let is_known = call.credential == self.token() && !self.deposed.contains_key(&call.at);
        if end != "register" && !is_known {
            return Some(StatusCode::UNAUTHORIZED.into_response());
        }
        let body = match end {
            "register" => {
                json!({"workerToken": self.token(), "heartbeatIntervalMs": BEAT_MS, "epoch": self.epoch,
                "idRangeEndpoint": "/api/v1/id-ranges"})
            }
            "heartbeat" | "rebind" => {
                json!({"state": "Healthy", "epoch": (!self.is_tacit).then_some(self.epoch),
                "backpressure": {"level": "ok", "factor": self.factor},
                "commands": std::mem::take(&mut self.commands)})
            }
            "id-ranges" => {
                self.next_id += 100;
                json!({"chunkId": self.next_id, "range": [self.next_id, self.next_id + 100]})
            }
            "tasks" => return None,
            _ => json!({}),
        };
        Some(axum::Json(body).into_response())
    }

    /// The term that a server believes to be in.
    fn epoch_at(&self, url: &str) -> u64 {
        self.deposed.get(url).copied().unwrap_or(self.epoch)
    }

    /// The token of the latest registration.
    pub(super) fn token(&self) -> String {
        let registered = self.calls.iter().filter(|call| call.what == "POST workers/register").count();
        format!("token-{registered}")
    }
}

/// Often, so that nobody has to wait long for a worker to give up; not so often that a busy machine makes it do so.
const BEAT_MS: u64 = 300;
