//! Effects with a real coordinator, a real disk and real endpoints (S3, S6, S15, S21).

use super::{
    Runner,
    persist::Trouble,
    push::{Courier, Errand, Push, PushError, SIGNATURE, Target},
    run_effects,
};
use crate::{
    output::{OutputError, OutputRoot, TaskFiles},
    simulation::{Simulation, SimulationSettings},
};
use axum::{
    Router,
    body::Bytes,
    extract::{Request, State},
    http::{StatusCode, header::LOCATION},
    response::{IntoResponse, Response},
};
use futures_util::stream::{FuturesUnordered, StreamExt};
use hmac::{Hmac, KeyInit, Mac};
use muster_coordinator::{Coordinator, Lead, LeaseTimes, ManualClock, Options, Refusal, instant_now};
use muster_model::{
    Ask, Completion, Digest, EntryId, FrameHandout, FrameQuery, FrameTaskId, FrameTaskStatus, Heartbeat,
    Millis, Name, QuarantineRecord, Ratio, Registration, SessionId, SessionRecord, SessionStatus,
    SessionSubmission, Timestamp,
    ask::frames::{Remove, RetireChunk},
};
use muster_store::{Candidate, MemoryStore};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{cell::Cell, fs, io, path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{
    net::TcpListener,
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
};

/// A coordinator whose clock stands still, so that nobody is lost by a slow machine.
struct World {
    place: TempDir,
    store: Arc<MemoryStore>,
    coordinator: Coordinator,
    root: OutputRoot,
}

impl World {
    async fn new() -> Self {
        let place = TempDir::new().unwrap();
        let root = OutputRoot::open(place.path()).unwrap();
        let store = Arc::new(MemoryStore::new());
        let coordinator = start(&store).await;
        Self { place, store, coordinator, root }
    }

    /// Another life on the same store and the same disk.
    async fn reborn(self) -> Self {
        self.coordinator.stop().await;
        let coordinator = start(&self.store).await;
        Self { coordinator, ..self }
    }

    fn run(&self) -> JoinHandle<()> {
        tokio::spawn(run_effects(simulation(&self.coordinator, &self.root)))
    }

    fn runner(&self) -> Runner {
        Runner::new(simulation(&self.coordinator, &self.root))
    }

    fn path(&self, below_root: &str) -> PathBuf {
        self.place.path().join(below_root)
    }

    async fn ask<A: Ask>(&self, request: A) -> A::Reply {
        self.coordinator.ask(request).await.unwrap()
    }

    async fn register(&self, worker: &str, endpoint: Option<&str>) {
        let registration = Registration {
            worker: name(worker),
            token_hash: token_hash(worker),
            endpoint: endpoint.map(Into::into),
            slots: 1,
            description: "{}".into(),
        };
        self.ask(registration).await;
        // Work waits for it (S8).
        let (worker, queue_ratio) = (name(worker), Ratio(100_000));
        let beat =
            Heartbeat { worker, queue_ratio, gpu_usage: None, last_frame: None, error: false, rtt: None };
        self.ask(beat).await;
    }

    async fn submit(&self, total_frames: u64) {
        let submission = SessionSubmission {
            session: session(),
            digest: Digest(1),
            total_frames,
            frames_per_task: total_frames,
            strict: false,
            output: "session_s1".into(),
            body: "{}".into(),
        };
        self.ask(submission).await;
    }

    async fn pull(&self, worker: &str) -> FrameHandout {
        let handout = self.coordinator.ask_for_frames(name(worker), Duration::ZERO).await.unwrap();
        *handout.expect("a task")
    }

    /// Leaves files in the directory of a chunk.
    fn leave(&self, chunk: u64, files: &[&str]) -> PathBuf {
        let home = self.root.make_task_directory(TaskFiles { output: "session_s1", chunk }).unwrap();
        files.iter().for_each(|file| fs::write(home.join(file), file).unwrap());
        home
    }

    /// Hands in a task with its fragment, as the routes do.
    async fn complete(&self, worker: &str, handout: &FrameHandout) {
        let (range, chunk) = (handout.range, handout.ids.chunk);
        let fragment = json!({
            "workerId": worker, "frameRange": [range.start, range.end], "globalIdChunkId": chunk,
            "cameras": [], "statistics": {}, "validationSummary": {},
        });
        let files = TaskFiles { output: "session_s1", chunk };
        self.root.place_fragment(files, &name(worker), fragment.to_string().as_bytes()).unwrap();
        let completion = Completion {
            task: handout.task.clone(),
            worker: Some(name(worker)),
            attempt: Some(handout.attempt),
            range,
            chunk,
            dropped: 0,
            digest: Digest(u128::from(chunk)),
            result: "{}".into(),
            dry: false,
        };
        self.ask(completion).await;
    }

    /// Looks after everything that becomes durable until it is as wanted.
    async fn until<T>(&self, look: impl AsyncFn() -> Option<T>) -> T {
        loop {
            let newest = self.coordinator.feed().newest().unwrap();
            if let Some(found) = look().await {
                return found;
            }
            self.coordinator.feed().after(newest).await.unwrap();
        }
    }
}

/// A coordinator whose term has begun.
async fn start(store: &Arc<MemoryStore>) -> Coordinator {
    let clock = Arc::new(ManualClock::at(Timestamp(1_700_000_000_000)));
    let store = Arc::clone(store);
    let coordinator = Coordinator::start_with_clock(store, Options::default(), clock).unwrap();
    coordinator.frames(FrameQuery::Status).await.unwrap();
    coordinator
}

fn simulation(coordinator: &Coordinator, root: &OutputRoot) -> Simulation {
    Simulation::new(coordinator.clone(), root.clone(), SimulationSettings::default())
}

fn token_hash(worker: &str) -> [u8; 32] {
    Sha256::digest(worker.as_bytes()).into()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn session() -> SessionId {
    SessionId::new("s1").unwrap()
}

/// S15, S17: what is wanted out of the way is moved, and the engine hears how much it was.
#[tokio::test]
async fn a_retired_chunks_files_are_moved() {
    let world = World::new().await;
    let running = world.run();
    world.register("W1", None).await;
    world.submit(10).await;
    let handout = world.pull("W1").await;
    let chunk = handout.ids.chunk;
    let home = world.leave(chunk, &["1.png", "2.png"]);
    retire(&world, chunk, &handout.task).await;
    let entry = world.until(async || moved(&world, chunk).await).await;
    assert_eq!(entry.files, 2);
    assert!(!home.exists());
    let audit = fs::read_to_string(world.path(&format!("quarantine/dropped_chunks/{chunk}/audit.jsonl")));
    assert_eq!(audit.unwrap().lines().count(), 2);
    running.abort();
}

/// S21: a session is completed when its manifest is there, of the accepted fragments; session.json tells of replays.
#[tokio::test]
async fn a_session_completes_with_its_manifest() {
    let world = World::new().await;
    let running = world.run();
    world.register("W1", None).await;
    world.submit(10).await;
    let first = world.pull("W1").await;
    retire(&world, first.ids.chunk, &first.task).await;
    let second = world.pull("W1").await;
    assert_ne!(second.ids.chunk, first.ids.chunk);
    world.complete("W1", &second).await;
    let record = world.until(async || ended(&world).await).await;
    assert_eq!(record.status, SessionStatus::Completed);
    let read = |file: &str| -> Value {
        serde_json::from_slice(&fs::read(world.path(&format!("session_s1/meta/{file}"))).unwrap()).unwrap()
    };
    let manifest = read("manifest.json");
    assert_eq!(manifest["ranges"][0]["globalIdChunkId"], second.ids.chunk);
    let (retired, new) = (first.ids.chunk, second.ids.chunk);
    let replays = json!([{"frameRange": [0, 10], "retiredChunkId": retired, "newChunkId": new}]);
    assert_eq!(read("session.json"), json!({"sessionId": "s1", "totalFrames": 10, "replays": replays}));
    running.abort();
}

/// S15, S21: what was due when a server died is done by the next.
#[tokio::test]
async fn what_a_dead_server_owed_is_done() {
    let world = World::new().await;
    world.register("W1", None).await;
    world.submit(10).await;
    let first = world.pull("W1").await;
    let chunk = first.ids.chunk;
    let home = world.leave(chunk, &["1.png"]);
    retire(&world, chunk, &first.task).await;
    let second = world.pull("W1").await;
    world.complete("W1", &second).await;
    assert!(home.exists() && !world.path("session_s1/meta/manifest.json").exists());

    let world = world.reborn().await;
    let running = world.run();
    assert_eq!(world.until(async || moved(&world, chunk).await).await.files, 1);
    let record = world.until(async || ended(&world).await).await;
    assert_eq!(record.status, SessionStatus::Completed);
    assert!(!home.exists() && world.path("session_s1/meta/manifest.json").exists());
    running.abort();
}

async fn retire(world: &World, chunk: u64, task: &FrameTaskId) {
    let (task, reason) = (Some(task.clone()), "by a test".into());
    world.ask(RetireChunk { chunk, task, reason }).await;
}

async fn moved(world: &World, chunk: u64) -> Option<QuarantineRecord> {
    let entry = world.coordinator.read(move |reader| reader.quarantined(&EntryId::Chunk(chunk))).await;
    entry.unwrap().filter(|entry| entry.moved)
}

async fn ended(world: &World) -> Option<SessionRecord> {
    let record = world.coordinator.read(|reader| reader.session(&session())).await.unwrap();
    record.filter(|record| record.status.is_ended())
}

/// A request that an endpoint received.
struct Sent {
    path: String,
    signature: String,
    body: Bytes,
}

/// The response of an endpoint.
type Answer = fn() -> Response;

/// An endpoint that keeps what it is sent, and where it is.
async fn endpoint(answer: Answer) -> (String, UnboundedReceiver<Sent>) {
    let (keep, kept) = unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/base", listener.local_addr().unwrap());
    let router = Router::new().fallback(take).with_state((keep, answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, kept)
}

async fn take(State((keep, answer)): State<(UnboundedSender<Sent>, Answer)>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let signature = parts.headers.get(SIGNATURE).map(|value| value.to_str().unwrap().to_owned());
    let path = format!("{} {}", parts.method, parts.uri.path());
    let signature = signature.unwrap_or_default();
    let _ = keep.send(Sent { path, signature, body });
    answer()
}

/// The signature that a worker expects.
fn signed_by(worker: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(&token_hash(worker)).unwrap();
    mac.update(body);
    crate::output::hex(&mac.finalize().into_bytes())
}

fn ack() -> Response {
    r#"{"ack":true,"more":1}"#.into_response()
}

/// S3: the task comes to the worker's own address, signed; its ack makes the task running.
#[tokio::test]
async fn a_pushed_task_is_signed_and_its_ack_counts() {
    let world = World::new().await;
    let running = world.run();
    let (address, mut kept) = endpoint(ack).await;
    world.register("W1", Some(&address)).await;
    world.submit(10).await;
    let sent = kept.recv().await.unwrap();
    assert_eq!(sent.path, "POST /base/workers/W1/tasks");
    let body: serde_json::Value = serde_json::from_slice(&sent.body).unwrap();
    assert_eq!((&body["taskId"], &body["attempt"]), (&json!("s1.00000000"), &json!(1)));
    assert_eq!(sent.signature, signed_by("W1", &sent.body));

    let id = "s1.00000000".parse().unwrap();
    let confirmed = async || {
        let id = muster_model::FrameTaskId::clone(&id);
        let task = world.coordinator.read(move |reader| reader.frame_task(&id)).await.unwrap();
        task.filter(|task| task.status == FrameTaskStatus::Running)
    };
    let task = world.until(confirmed).await;
    assert_eq!((task.worker, task.attempt), (name("W1"), 1));
    running.abort();
}

/// S6: a removed worker is told at its own address, signed; its ack is known.
#[tokio::test]
async fn a_removal_is_told_at_the_workers_address() {
    let world = World::new().await;
    let running = world.run();
    let (address, mut kept) = endpoint(ack).await;
    world.register("W1", Some(&address)).await;
    world.ask(Remove { worker: name("W1"), itself: false }).await;
    let sent = kept.recv().await.unwrap();
    assert_eq!(sent.path, "DELETE /base/workers/W1");
    assert_eq!(&sent.body[..], br#"{"removed":true,"workerId":"W1"}"#);
    assert_eq!(sent.signature, signed_by("W1", &sent.body));
    let known = async || {
        let worker = world.coordinator.read(|reader| reader.renderer(&name("W1"))).await.unwrap();
        worker.filter(|worker| worker.removal == Some(muster_model::Removal::Known))
    };
    // It is in no feed: nobody but the engine waits for it.
    while known().await.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running.abort();
}

/// S3: only `{ack:true}` with 2xx is an ack.
#[tokio::test]
async fn what_is_no_ack_is_not_taken_for_one() {
    let answers: [(Answer, &str); 6] = [
        (|| (StatusCode::INTERNAL_SERVER_ERROR, r#"{"ack":true}"#).into_response(), "500"),
        (|| r#"{"ack":false}"#.into_response(), "ack"),
        (|| r#"{"ack":"true"}"#.into_response(), "ack"),
        (|| "".into_response(), "ack"),
        (|| " ".repeat(70_000).into_response(), "65536"),
        (|| (StatusCode::FOUND, [(LOCATION, "/elsewhere")]).into_response(), "302"),
    ];
    for (answer, told) in answers {
        let (address, mut kept) = endpoint(answer).await;
        let error = bring(&Courier::new(), &address).await.unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
        kept.recv().await.unwrap();
        assert!(kept.try_recv().is_err(), "one try, and no redirect is followed");
    }
    let (address, _kept) = endpoint(ack).await;
    bring(&Courier::new(), &address).await.unwrap();
    let error = bring(&Courier::new(), "http://127.0.0.1:1").await.unwrap_err();
    assert!(matches!(error, PushError::Http(_)) && error.to_string().contains("refused"), "{error}");
}

/// S3: a worker that takes a connection and says nothing is given up after a while.
#[tokio::test(start_paused = true)]
async fn silence_is_no_ack() {
    let (address, _listener) = silent().await;
    let error = bring(&Courier::new(), &address).await.unwrap_err();
    assert!(matches!(&error, PushError::Http(error) if error.is_timeout()), "{error}");
}

/// S3: one slow endpoint does not hold up the others, however many tasks wait for it.
#[tokio::test]
async fn a_slow_endpoint_holds_up_nobody_else() {
    let courier = Courier::new();
    let (slow, _listener) = silent().await;
    let (address, _kept) = endpoint(ack).await;
    let mut waiting: FuturesUnordered<_> = (0..200).map(|_| bring(&courier, &slow)).collect();
    tokio::select! {
        biased;
        _ = waiting.next() => panic!("the slow endpoint was waited for"),
        brought = bring(&courier, &address) => brought.unwrap(),
    }
}

async fn bring(courier: &Courier, endpoint: &str) -> Result<(), PushError> {
    let worker = name("W1");
    let push = Push {
        errand: Errand::Task,
        target: Target { worker: &worker, endpoint, key: &[7; 32] },
        body: "{}".into(),
    };
    courier.bring(&push).await
}

/// An endpoint that answers nothing.
async fn silent() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    (format!("http://{}", listener.local_addr().unwrap()), listener)
}

/// S15: an effect is not lost to a full disk; pauses grow from a second to a minute.
#[tokio::test(start_paused = true)]
async fn a_full_disk_is_waited_for() {
    let world = World::new().await;
    let runner = world.runner();
    let (tries, began) = (Cell::new(0), instant_now());
    let done = runner.persist("test", world.coordinator.epoch(), || async {
        tries.set(tries.get() + 1);
        if tries.get() <= 8 { Err(full().into()) } else { Ok("done") }
    });
    assert_eq!(done.await, Some("done"));
    assert_eq!(tries.get(), 9);
    // The clock is the test's own: it goes on when everybody waits.
    assert_eq!(began.elapsed().as_secs(), 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60);
}

/// S15: what the next term will ask for again is not done for the last.
#[tokio::test(start_paused = true)]
async fn a_term_that_is_over_wants_nothing() {
    let world = World::new().await;
    let runner = world.runner();
    let over = runner.persist("test", world.coordinator.epoch(), || async {
        Err::<(), _>(Trouble::from(Refusal::Unavailable))
    });
    assert_eq!(over.await, None);
    let of_another =
        runner.persist("test", world.coordinator.epoch() + 1, || async { panic!("it is not tried at all") });
    assert_eq!(of_another.await, None::<()>);
}

/// S15, S18: a server that leads no more leaves what it had under way to whoever leads.
#[tokio::test(start_paused = true)]
async fn who_leads_no_more_does_nothing() {
    let world = World::new().await;
    let (runner, epoch) = (world.runner(), world.coordinator.epoch());
    let tries = Cell::new(0);
    let deposed = runner.persist("test", epoch, || async {
        tries.set(tries.get() + 1);
        world.coordinator.stop().await;
        Err::<(), Trouble>(full().into())
    });
    assert_eq!((deposed.await, tries.get()), (None, 1));
    assert!(matches!(runner.on_disk(|_| Ok(())).await, Err(Trouble::TermOver)));
}

/// S15, S18: a server that stood still for longer than others wait replaces no file before it knows that it leads.
#[tokio::test]
async fn who_stood_still_writes_nothing_old() {
    let place = TempDir::new().unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp(0)));
    // Longer than any test: no sign of life comes in between.
    let lease = LeaseTimes { lease: Millis::from_secs(36_000) };
    let candidate = Candidate { node: "a".into(), address: "http://a:1".into() };
    let (store, options) = (Arc::new(MemoryStore::shared()), Options { lease, ..Options::default() });
    let by = Arc::clone(&clock);
    let coordinator = Coordinator::join_with_clock(store, options, candidate, by).unwrap();
    coordinator.watch_lead().wait_for(|lead| matches!(lead, Lead::Here { .. })).await.unwrap();
    let root = OutputRoot::open(place.path()).unwrap();
    let runner = Runner::new(simulation(&coordinator, &root));
    assert!(runner.on_disk(|_| Ok(())).await.is_ok());
    clock.advance(lease.lease);
    let written = runner.on_disk(|_| -> Result<(), OutputError> { panic!("it may be old") }).await;
    assert!(matches!(written, Err(Trouble::MayBeOver)), "{written:?}");
    coordinator.stop().await;
}

/// S15: a disk that comes back finds its work waiting.
#[tokio::test(start_paused = true)]
async fn what_is_in_the_way_is_waited_for() {
    let world = World::new().await;
    std::fs::write(world.path("quarantine"), "somebody's").unwrap();
    world.leave(1, &["a"]);
    let record = Arc::new(muster_model::QuarantineRecord {
        id: muster_model::EntryId::Chunk(1),
        session: session(),
        output: "session_s1".into(),
        worker: name("W1"),
        moved: false,
        files: 0,
        confirmed: None,
        at: Timestamp(0),
    });
    let runner = world.runner();
    let tries = Cell::new(0);
    let files = runner.persist("test", world.coordinator.epoch(), || async {
        tries.set(tries.get() + 1);
        if tries.get() == 3 {
            std::fs::rename(world.path("quarantine"), world.path("moved_away")).unwrap();
        }
        runner.set_apart(&record).await
    });
    assert_eq!((files.await, tries.get()), (Some(1), 3));
    assert!(world.path("quarantine/dropped_chunks/1/a").exists());
}

fn full() -> OutputError {
    let error = io::Error::from(io::ErrorKind::StorageFull);
    OutputError::Disk { doing: "write", path: "/out/x".into(), error }
}
