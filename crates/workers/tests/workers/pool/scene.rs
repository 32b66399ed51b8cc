//! A worker in this process, a directory, and the server of contract P as far as a worker needs it; the server loses
//! responses as the test wants.

use crate::{
    stand_in::{self, Answer, Call},
    worker_binary,
};
use axum::{
    Json,
    body::Bytes,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use muster_contract_pool::{UnverifiedResults, WorkRequest};
use muster_model::{Millis, Timestamp};
use muster_proof::{PublicKey, decode_signature, signed_bytes};
use muster_spool::{Directory, Limits, SetAside, Spool, set_aside_entries};
use muster_worker_kit::{clock::instant_now, http::Servers, process::Guards};
use muster_workers::pool::{
    Credentials, KeyFile, Secret, Server,
    core::{Counts, Over},
    execute::{Exec, Handler},
    runtime::{Options, PoolWorkerError, Report, Worker},
    wire::Introduction,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// Settings of the worker in a test.
pub(super) struct Cast {
    pub(super) slots: u32,
    pub(super) grace: Millis,
    pub(super) timeout: Duration,
    /// A script that a shell runs; without it the built-in handler is used.
    pub(super) script: Option<&'static str>,
    /// A file in the directory that is run in the place of a script.
    pub(super) program: Option<&'static str>,
    pub(super) password: &'static str,
    pub(super) rotate: bool,
}

impl Default for Cast {
    fn default() -> Self {
        Self {
            slots: 1,
            grace: Millis(30_000),
            timeout: Duration::from_secs(60),
            script: None,
            program: None,
            password: "pass",
            rotate: false,
        }
    }
}

pub(super) struct Scene {
    pub(super) server: StandIn,
    pub(super) directory: TempDir,
    pub(super) report: watch::Receiver<Report>,
    leave: CancellationToken,
    worker: JoinHandle<Over>,
}

impl Scene {
    pub(super) async fn start(cast: Cast) -> Self {
        Self::begin(StandIn::start(), tempfile::tempdir().unwrap(), cast)
    }

    /// A worker that has a shell do its work.
    pub(super) async fn exec(script: &'static str) -> Self {
        Self::start(Cast { script: Some(script), ..Cast::default() }).await
    }

    /// A worker with a server and a directory that may have seen others.
    pub(super) fn begin(server: StandIn, directory: TempDir, cast: Cast) -> Self {
        let link = link(&[&server.url], cast.password);
        Self::linked(link, server, directory, cast)
    }

    /// A worker that knows two servers, and the second one.
    pub(super) async fn with_next(cast: Cast) -> (Self, StandIn) {
        let server = StandIn::start();
        let next = server.beside();
        let link = link(&[&server.url, &next.url], cast.password);
        (Self::linked(link, server, tempfile::tempdir().unwrap(), cast), next)
    }

    fn linked(link: Server, server: StandIn, directory: TempDir, cast: Cast) -> Self {
        let seed = || [7 + u8::from(cast.rotate); 32];
        let keys = || KeyFile::open(&directory.path().join("key"), cast.rotate, seed);
        let worker =
            Worker::open(options(directory.path(), &cast), link, keys, handler(directory.path(), &cast));
        let (worker, leave) = (worker.unwrap(), CancellationToken::new());
        let report = worker.watch();
        let worker = tokio::spawn(worker.run(leave.clone()));
        Self { server, directory, report, leave, worker }
    }

    /// Tries to open another worker with the same spool and another key.
    pub(super) fn second(&self) -> Result<(), PoolWorkerError> {
        let (cast, directory) = (Cast::default(), self.directory.path());
        let keys = || KeyFile::open(&directory.join("second-key"), false, || [9; 32]);
        let server = link(&[&self.server.url], cast.password);
        Worker::open(options(directory, &cast), server, keys, handler(directory, &cast)).map(drop)
    }

    /// Asks the worker to leave and waits until it has.
    pub(super) async fn leave(&mut self) -> Over {
        self.leave.cancel();
        self.over().await
    }

    /// Waits until the worker is over.
    pub(super) async fn over(&mut self) -> Over {
        (&mut self.worker).await.unwrap()
    }

    /// Asks the worker to leave, and does not wait.
    pub(super) fn ask_to_leave(&self) {
        self.leave.cancel();
    }

    /// Waits until something can be said of how the worker is.
    pub(super) async fn counted(&mut self, is_right: impl Fn(Counts) -> bool) {
        let waiting = self.report.wait_for(|report| is_right(report.counts));
        tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap();
    }

    /// Number of results on disk, and the entries set aside; for when the worker has ended.
    pub(super) fn spool(&self) -> (usize, Vec<SetAside>) {
        let path = self.directory.path().join("spool");
        let spool = Spool::open(Directory::open(&path).unwrap(), Limits::default()).unwrap();
        (spool.0.depth(), set_aside_entries(&Directory::for_reading(&path)).unwrap())
    }

    /// Takes the worker away, when it is over, and gives the rest.
    pub(super) fn part(self) -> (StandIn, TempDir) {
        (self.server, self.directory)
    }
}

fn options(directory: &Path, cast: &Cast) -> Options {
    let started = instant_now();
    Options {
        who: Introduction { name: "W".into(), region: None, specs: serde_json::Map::new() },
        slots: cast.slots,
        heartbeat: Millis(1_000),
        grace: cast.grace,
        spool: directory.join("spool"),
        now: Arc::new(move || Timestamp(started.elapsed().as_millis().try_into().unwrap())),
    }
}

fn link(urls: &[&str], password: &str) -> Server {
    let servers = Servers::parse(urls.iter().copied()).unwrap();
    let client = servers.client().no_proxy().build().unwrap();
    let credentials = Credentials::Password { user: "owner".to_owned(), password: Secret::new(password) };
    Server::new(client, servers, credentials)
}

fn handler(directory: &Path, cast: &Cast) -> Handler {
    let shell =
        |script: &str| ["sh", "-c", script, "sh", directory.to_str().unwrap()].map(str::to_owned).to_vec();
    let argv = match (cast.script, cast.program) {
        (Some(script), _) => shell(script),
        (None, Some(program)) => vec![directory.join(program).to_str().unwrap().to_owned()],
        (None, None) => return Handler::BuiltIn,
    };
    let spool = directory.join("spool");
    let lock = Options::guard_lock(&spool);
    Handler::Exec(Exec {
        argv,
        guards: Guards { program: worker_binary(), args: vec!["guard".into()], lock },
        scratch: Options::scratch(&spool),
        timeout: cast.timeout,
        worker: "W".to_owned(),
    })
}

/// A fault in a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fault {
    /// It is done, and the answer breaks off.
    Lost,
    /// It is not done: this status with these words.
    Status(u16, &'static str),
}

/// State of the server, with the calls that it got.
#[derive(Default)]
pub(super) struct Desk {
    pub(super) calls: Vec<Call>,
    /// Given once each, by the end of the path.
    pub(super) faults: BTreeMap<&'static str, VecDeque<Fault>>,
    /// Given always, by the end of the path.
    pub(super) standing: BTreeMap<&'static str, Fault>,
    tokens: u64,
    is_token_over: bool,
    /// The key of worker 7, once it is registered.
    pub(super) key: Option<String>,
    /// Other workers of the same owner.
    pub(super) others: Vec<Value>,
    /// Payloads by assignment that wait for a poll.
    pub(super) queue: VecDeque<(u64, Value)>,
    pub(super) started: BTreeMap<u64, Value>,
    /// The bodies that were taken; of a batch those of its items.
    pub(super) results: BTreeMap<u64, Bytes>,
    /// It is of a version without batches (P20).
    pub(super) is_old: bool,
}

/// A result that was not taken.
struct Refused {
    status: u16,
    detail: &'static str,
    identical: bool,
}

/// A stand-in of the server.
pub(super) type StandIn = stand_in::StandIn<Desk>;

impl StandIn {
    pub(super) fn start() -> Self {
        Self::with(Desk::default())
    }

    pub(super) fn hand_out(&self, assignment: u64, payload: Value) {
        self.change(|desk| desk.queue.push_back((assignment, payload)));
    }

    pub(super) fn fail_once(&self, end: &'static str, fault: Fault) {
        self.desk().faults.entry(end).or_default().push_back(fault);
    }

    pub(super) fn fail_always(&self, end: &'static str, fault: Option<Fault>) {
        let mut desk = self.desk();
        desk.standing.remove(end);
        desk.standing.extend(fault.map(|fault| (end, fault)));
    }

    /// The token that was given last is over.
    pub(super) fn end_token(&self) {
        self.desk().is_token_over = true;
    }

    /// The result of an assignment, once it was taken.
    pub(super) async fn result(&self, assignment: u64) -> Value {
        let body = self.until(|desk| desk.results.get(&assignment).cloned()).await;
        serde_json::from_slice(&body).unwrap()
    }

    /// Calls in order, without heartbeats.
    pub(super) fn calls(&self) -> Vec<String> {
        let calls = self.desk().calls.clone();
        calls.into_iter().map(|call| call.what).filter(|what| what != "POST workers/heartbeat").collect()
    }
}

impl stand_in::Desk for Desk {
    /// A poll that resumes is `jobs/resume`.
    fn name(path: &str, body: &Value) -> String {
        let path = if body["resume"] == true { "jobs/resume" } else { path.trim_start_matches('/') };
        path.to_owned()
    }

    fn calls(&mut self) -> &mut Vec<Call> {
        &mut self.calls
    }

    fn answer(&mut self, call: &Call) -> Answer {
        let fault = self.faults.get_mut(call.end()).and_then(VecDeque::pop_front);
        match fault.or(self.standing.get(call.end()).copied()) {
            Some(Fault::Status(status, detail)) => Answer::Now(problem(status, detail)),
            Some(Fault::Lost) => Answer::Lost { awaits_work: self.respond(call).is_none() },
            None => self.respond(call).map_or(Answer::WithWork, Answer::Now),
        }
    }

    fn next_work(&mut self) -> Option<Value> {
        let (id, payload) = self.queue.pop_front()?;
        self.started.insert(id, payload.clone());
        Some(handed(id, &payload))
    }
}

impl Desk {
    /// Responds to a call; nothing where it has to wait for work.
    fn respond(&mut self, call: &Call) -> Option<Response> {
        let (what, body) = (call.what.as_str(), &call.body);
        if what == "POST auth/login" {
            let is_right = body == "username=owner&password=pass";
            return Some(if is_right {
                self.admit()
            } else {
                problem(401, "Incorrect username or password")
            });
        }
        if call.credential != format!("Bearer token-{}", self.tokens) || self.is_token_over {
            return Some(problem(401, "Invalid token"));
        }
        let json = call.json();
        Some(match what {
            "POST auth/refresh" => self.admit(),
            "GET workers" => {
                let known = self.key.iter().map(|key| worker(key));
                let known = self.others.iter().cloned().chain(known).collect::<Vec<_>>();
                Json(json!({ "workers": known })).into_response()
            }
            "POST workers/register" | "PUT workers/7/key" => {
                self.key = Some(json["public_key"].as_str().unwrap().to_owned());
                Json(worker(self.key.as_deref().unwrap())).into_response()
            }
            "POST workers/heartbeat" => Json(json!({"worker_id": 7, "last_seen_at": "now"})).into_response(),
            "POST jobs/resume" => {
                let started = self.started.iter().map(|(id, payload)| handed(*id, payload));
                Json(json!({"assignments": started.collect::<Vec<_>>()})).into_response()
            }
            "POST jobs/poll" => {
                return stand_in::Desk::next_work(self).map(|handed| Json(handed).into_response());
            }
            "POST jobs/submit" => self.submit(&json, body),
            "POST jobs/work" if !self.is_old => self.work(&json, body),
            "POST jobs/work" => problem(422, "body.submit.0.signature: Field required"),
            _ => problem(404, "no such page"),
        })
    }

    fn admit(&mut self) -> Response {
        (self.tokens, self.is_token_over) = (self.tokens + 1, false);
        Json(json!({"access_token": format!("token-{}", self.tokens), "token_type": "bearer", "expires_in": 900}))
            .into_response()
    }

    /// P8, in its order, as far as it matters here.
    fn submit(&mut self, json: &Value, body: &Bytes) -> Response {
        let id = json["assignment_id"].as_u64().unwrap();
        let signature = decode_signature(json["signature"].as_str().unwrap()).unwrap();
        let signed = signed_bytes(id, json["nonce"].as_str().unwrap(), json["output_hash"].as_str());
        let key = PublicKey::decode(self.key.as_deref().unwrap()).unwrap();
        if !key.verify(&signed, &signature) {
            return problem(400, "Signature verification failed");
        }
        match self.take(json, body) {
            Ok(taken) => Json(taken).into_response(),
            Err(Refused { status, detail, identical }) => {
                let mut answer = problem(status, detail);
                if identical {
                    answer.headers_mut().insert("muster-identical", "true".parse().unwrap());
                }
                answer
            }
        }
    }

    /// P20: results under one signature.
    fn work(&mut self, json: &Value, body: &Bytes) -> Response {
        let UnverifiedResults::Batch(batch) = WorkRequest::parse(body).unwrap().results else {
            panic!("{json} is no batch")
        };
        let key = self.key.clone().unwrap();
        let verdicts = batch.verify(&PublicKey::decode(&key).unwrap(), &key);
        assert!(verdicts.iter().all(Result::is_ok), "{verdicts:?}");
        let items = json["submit"].as_array().unwrap();
        let submitted = items.iter().map(|item| match self.take(item, &item.to_string().into()) {
            Ok(taken) => taken,
            Err(Refused { status, detail, identical }) => {
                json!({"assignment_id": item["assignment_id"], "error": detail, "code": status, "identical": identical})
            }
        });
        Json(json!({"submitted": submitted.collect::<Vec<_>>(), "assignments": []})).into_response()
    }

    /// Takes a result whose signature is valid.
    fn take(&mut self, json: &Value, body: &Bytes) -> Result<Value, Refused> {
        let id = json["assignment_id"].as_u64().unwrap();
        let refused = |status, detail| Err(Refused { status, detail, identical: false });
        if json["nonce"] != nonce(id) {
            return refused(400, "Invalid nonce");
        }
        match self.results.get(&id) {
            Some(taken) => {
                Err(Refused { status: 409, detail: "Assignment already submitted", identical: taken == body })
            }
            None if self.started.remove(&id).is_none() => {
                refused(409, "Assignment is not in a submittable state")
            }
            None => {
                self.results.insert(id, body.clone());
                Ok(
                    json!({"assignment_id": id, "status": "completed", "finished_at": "2026-02-08T12:35:10.000000Z"}),
                )
            }
        }
    }
}

fn worker(key: &str) -> Value {
    json!({"id": 7, "name": "W", "owner_user_id": 1, "status": "offline", "region": null, "specs_json": null,
        "public_key": key, "last_seen_at": null})
}

fn handed(id: u64, payload: &Value) -> Value {
    json!({"assignment_id": id, "job": payload, "nonce": nonce(id), "cost_hint_tokens": 0})
}

fn nonce(id: u64) -> String {
    format!("nonce-{id}")
}

fn problem(status: u16, detail: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    let body = json!({"type": "about:blank", "status": status.as_u16(), "detail": detail});
    let mut answer = (status, Json(body)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert("retry-after", "0".parse().unwrap());
    }
    answer
}
