//! State that the routes of contract S share: the coordinator, the output root, a cache of session bodies, and locks.

use crate::output::{OutputError, OutputRoot, TaskFiles};
use muster_contract_simulation::{JsonText, Task, TaskPlace, read_parts};
use muster_coordinator::{Coordinator, Refusal};
use muster_model::{FrameHandout, FrameRejection, FrameTaskId, Rejection, SessionId};
use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{Mutex as Turn, OwnedMutexGuard, Semaphore};

/// Settings of this contract's routes (section `simulation`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationSettings {
    /// Hosts that tasks may be pushed to, beside those that registrations come from (S3).
    pub endpoint_allow: Vec<String>,
    /// True to put the frames of an ended session together in one directory (S26c).
    pub assemble: bool,
}

impl Default for SimulationSettings {
    fn default() -> Self {
        Self { endpoint_allow: Vec::new(), assemble: true }
    }
}

/// The state that the routes of contract S share, beside the HTTP layer's. Cheap to clone.
#[derive(Clone)]
pub struct Simulation(pub(crate) Arc<Shared>);

/// The parts of it.
pub(crate) struct Shared {
    pub(crate) coordinator: Coordinator,
    pub(crate) output: OutputRoot,
    pub(crate) settings: SimulationSettings,
    pub(crate) bodies: Bodies,
    /// So that two completions of one task do not interleave.
    pub(crate) completing: Locks<FrameTaskId>,
    /// Fragments that come by path are read whole; so many at once.
    pub(crate) reading: Semaphore,
    /// A checkpoint holds everything there is; one at a time.
    pub(crate) checkpointing: Semaphore,
}

/// An error of memory or of the disk.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl Simulation {
    /// Puts the parts together.
    #[must_use]
    pub fn new(coordinator: Coordinator, output: OutputRoot, settings: SimulationSettings) -> Self {
        Self(Arc::new(Shared {
            bodies: Bodies::new(coordinator.clone()),
            coordinator,
            output,
            settings,
            completing: Locks::default(),
            reading: Semaphore::new(READING_MAX),
            checkpointing: Semaphore::new(1),
        }))
    }

    /// Carries out what is due outside, for as long as it is polled.
    pub async fn run_effects(&self) {
        crate::effects::run_effects(self.clone()).await;
    }

    /// A task as its worker is told it (S3); its directory is there when this returns.
    pub(crate) async fn offer(&self, handout: FrameHandout) -> Result<Task, Trouble> {
        let body = self.0.bodies.get(&handout.task.session).await?;
        let (output, chunk) = (handout.output.clone(), handout.ids.chunk);
        let directory =
            self.on_disk(move |root| root.make_task_directory(TaskFiles { output: &output, chunk })).await?;
        let place = TaskPlace {
            scenario: body.scenario.clone(),
            cameras: body.cameras.clone(),
            directory: directory.to_string_lossy().into(),
        };
        Ok(Task::new(&handout, place))
    }

    /// Does something to the output, off the async threads.
    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&OutputRoot) -> Result<T, OutputError> + Send + 'static,
    ) -> Result<T, Trouble> {
        let root = self.0.output.clone();
        let done = tokio::task::spawn_blocking(move || work(&root)).await;
        Ok(done.map_err(|_| Refusal::Unavailable)??)
    }

    /// The body of a task that is pushed (S3).
    pub(crate) async fn task_body(&self, handout: FrameHandout) -> Result<Vec<u8>, Refusal> {
        let task = self.offer(handout).await.map_err(|trouble| match trouble {
            Trouble::Refused(refusal) => refusal,
            Trouble::Output(error) => {
                tracing::error!(%error, "a task cannot be pushed: its directory cannot be made");
                Refusal::Unavailable
            }
        })?;
        Ok(task.to_bytes())
    }
}

/// The parts of a session's submission that are needed again and again.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// Its directory, relative to the output root.
    pub(crate) output: Box<str>,
    /// The scenario as it was submitted.
    pub(crate) scenario: JsonText,
    /// By which cameras, where that was told.
    pub(crate) cameras: Option<JsonText>,
}

/// Remembers the bodies of as many sessions as fit.
pub(crate) struct Bodies {
    coordinator: Coordinator,
    cached: Mutex<CachedBodies>,
}

#[derive(Default)]
struct CachedBodies {
    bodies: HashMap<SessionId, Arc<Body>>,
    oldest_first: VecDeque<SessionId>,
    bytes: usize,
}

impl Bodies {
    pub(crate) fn new(coordinator: Coordinator) -> Self {
        Self { coordinator, cached: Mutex::default() }
    }

    /// The body of a session.
    ///
    /// # Errors
    /// `SessionUnknown` where there is none, or a failed read.
    pub(crate) async fn get(&self, session: &SessionId) -> Result<Arc<Body>, Refusal> {
        if let Some(body) = self.cached().bodies.get(session) {
            return Ok(Arc::clone(body));
        }
        let id = session.clone();
        let record = self.coordinator.read(move |reader| reader.session(&id)).await?;
        let record =
            record.ok_or(Rejection::Frames(FrameRejection::SessionUnknown)).map_err(Refusal::Rejected)?;
        let (scenario, cameras) = read_parts(record.body.as_deref().unwrap_or("{}"));
        let body = Arc::new(Body { output: record.output, scenario, cameras });
        self.cached().put(session.clone(), Arc::clone(&body));
        Ok(body)
    }

    /// Forgets a session: a new one has its name.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.cached().remove(session);
    }

    fn cached(&self) -> MutexGuard<'_, CachedBodies> {
        // Each change leaves the maps whole, so a panic elsewhere while holding the lock harms nothing.
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedBodies {
    fn put(&mut self, session: SessionId, body: Arc<Body>) {
        self.remove(&session);
        self.bytes += body.bytes();
        self.oldest_first.push_back(session.clone());
        self.bodies.insert(session, body);
        while self.bytes > BYTES_MAX {
            let Some(oldest) = self.oldest_first.front().cloned() else { return };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, session: &SessionId) {
        if let Some(body) = self.bodies.remove(session) {
            self.bytes -= body.bytes();
            self.oldest_first.retain(|known| known != session);
        }
    }
}

impl Body {
    fn bytes(&self) -> usize {
        let cameras = self.cameras.as_ref().map_or(0, |cameras| cameras.as_str().len());
        self.scenario.as_str().len() + cameras + self.output.len() + OVERHEAD
    }
}

/// A lock for every key that anybody holds or waits for.
#[derive(Debug)]
pub(crate) struct Locks<K>(Mutex<HashMap<K, Arc<Turn<()>>>>);

impl<K: Hash + Eq> Locks<K> {
    /// Waits until nobody else holds the key.
    pub(crate) async fn lock(&self, key: K) -> OwnedMutexGuard<()> {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if turns.len() >= SWEEP_AT {
                turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            }
            Arc::clone(turns.entry(key).or_default())
        };
        turn.lock_owned().await
    }
}

impl<K> Default for Locks<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Each takes at most what a fragment may have; together, half a gigabyte.
const READING_MAX: usize = 8;

/// Dozens of the largest scenarios, or tens of thousands of common ones.
const BYTES_MAX: usize = 64 << 20;
const OVERHEAD: usize = 512;

/// Keys that nobody holds any more are let go of when there are so many.
const SWEEP_AT: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn body(bytes: usize) -> Arc<Body> {
        let scenario = JsonText::new(&format!("\"{}\"", "x".repeat(bytes))).unwrap();
        Arc::new(Body { output: "o".into(), scenario, cameras: None })
    }

    #[test]
    fn memory_is_bounded() {
        let mut cached = CachedBodies::default();
        let id = |n: usize| SessionId::new(&format!("s{n}")).unwrap();
        for n in 0..100 {
            cached.put(id(n), body(1 << 20));
            cached.put(id(n), body(1 << 20));
        }
        assert!(cached.bytes <= BYTES_MAX && cached.bodies.len() == cached.oldest_first.len());
        assert!(cached.bodies.contains_key(&id(99)) && !cached.bodies.contains_key(&id(0)));
        for n in 0..100 {
            cached.remove(&id(n));
        }
        assert_eq!((cached.bytes, cached.bodies.len()), (0, 0));
    }

    #[tokio::test]
    async fn a_key_is_held_once() {
        let locks = Locks::<u32>::default();
        let held = locks.lock(1).await;
        let _other = locks.lock(2).await;
        let mut waiting = std::pin::pin!(locks.lock(1));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("somebody else holds it"),
            () = std::future::ready(()) => {}
        }
        drop(held);
        waiting.await;
    }

    #[tokio::test]
    async fn keys_are_let_go_of() {
        let locks = Locks::<usize>::default();
        let _held = locks.lock(0).await;
        for key in 1..3 * SWEEP_AT {
            locks.lock(key).await;
        }
        let turns = locks.0.lock().unwrap();
        assert!(turns.len() <= SWEEP_AT && turns.contains_key(&0));
    }
}
