//! Effects with a real coordinator, a real disk and real endpoints.

mod files;
mod pushes;
mod retries;

use super::{Describe, Runner, run_effects};
use crate::output::{OutputRoot, TaskFiles};
use muster_coordinator::{Coordinator, ManualClock, Options};
use muster_model::{
    Ask, Completion, Digest, FrameHandout, FrameQuery, Heartbeat, Name, Ratio, Registration, SessionId,
    SessionSubmission, Timestamp,
};
use muster_store::MemoryStore;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::task::JoinHandle;

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
        tokio::spawn(run_effects(self.coordinator.clone(), self.root.clone(), describe(), true))
    }

    fn runner(&self) -> Runner {
        Runner::new(self.coordinator.clone(), self.root.clone(), describe(), true)
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

fn describe() -> Describe {
    Arc::new(|handout| {
        Box::pin(async move {
            Ok(json!({"taskId": handout.task.to_string(), "attempt": handout.attempt})
                .to_string()
                .into_bytes())
        })
    })
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
