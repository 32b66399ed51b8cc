//! What the routes of contract S share.

use crate::{
    bodies::Bodies,
    effects::Describe,
    locks::Locks,
    output::{OutputError, OutputRoot, TaskFiles},
};
use muster_contract_simulation::{Task, TaskPlace};
use muster_coordinator::{Coordinator, Refusal};
use muster_model::{FrameHandout, FrameTaskId};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What an operator may set about this contract's routes (section `simulation`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulationSettings {
    /// Hosts that tasks may be pushed to, beside those that registrations come from (S3).
    pub endpoint_allow: Vec<String>,
    /// Whether the frames of an ended session are put together in one directory (S26c).
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

/// Why something that concerns both memory and disk was not done.
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

    /// Says what workers are told of tasks that are brought to them (S3).
    #[must_use]
    pub fn describe(&self) -> Describe {
        let simulation = self.clone();
        Arc::new(move |handout| {
            let simulation = simulation.clone();
            Box::pin(async move { simulation.task_body(handout).await })
        })
    }

    /// Carries out what is due outside, for as long as it is polled.
    pub async fn run_effects(&self) {
        let Shared { coordinator, output, settings, .. } = &*self.0;
        let (coordinator, output) = (coordinator.clone(), output.clone());
        crate::effects::run_effects(coordinator, output, self.describe(), settings.assemble).await;
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

    async fn task_body(&self, handout: FrameHandout) -> Result<Vec<u8>, Refusal> {
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

/// Each takes at most what a fragment may have; together, half a gigabyte.
const READING_MAX: usize = 8;
