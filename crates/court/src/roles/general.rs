//! Runs a domain's tasks (C16).
//!
//! [`GeneralMind`] decides: which task is next, what an attempt came to, whether and when there is another. It touches
//! the folder only, so whatever it was doing when it died its next life takes up from the files.

mod attempts;
mod mind;
mod soldier;

pub use attempts::Ending;
pub(crate) use attempts::failed_outcome;
pub use mind::{GeneralMind, Start};

use crate::{
    Clock, Fault, Folder, Id, Place, Wake,
    bridge::{Bridge, Coordinator, Fleet},
    clock::wait_until,
    config::General,
    layout::LOCKS,
    roles::Step,
};
use muster_worker_kit::process::{Guards, wait_for_earlier_guards};
use soldier::Soldiers;
use std::{io, path::PathBuf, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// A general, and what it works with.
#[derive(Clone, Debug)]
pub struct GeneralSetup {
    /// Its manifest.
    pub general: General,
    /// The default channel.
    pub channel: String,
    /// The coordinator, for a general without soldiers (C17).
    pub coordinator: Option<Coordinator>,
    /// Guards that end its soldiers with all their children.
    pub guards: Guards,
}

/// The reason why a general cannot start.
#[derive(Debug, thiserror::Error)]
pub enum GeneralError {
    /// It hands its tasks to a coordinator, and none is named.
    #[error("the general {0} hands its tasks to a coordinator: name one with --server or MUSTER_SERVER")]
    NoCoordinator(String),
    /// The coordinator cannot be spoken to.
    #[error("cannot speak HTTP: {0}")]
    Http(#[from] reqwest::Error),
    /// Soldiers of an earlier life cannot be waited for.
    #[error("cannot wait for earlier soldiers at {}: {error}", path.display())]
    Earlier {
        /// The file that guards lock.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The tasks in progress cannot be read.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// The executor of attempts.
#[derive(Clone)]
enum Executors {
    Soldiers(Soldiers),
    Fleet(Arc<Bridge>),
}

/// An attempt that is over; without an ending because the general is.
type Over = (Id, Option<Ending>);

impl GeneralSetup {
    /// A post whose soldiers are guarded by this binary.
    #[must_use]
    pub fn new(folder: &Folder, general: General, channel: String, coordinator: Option<Coordinator>) -> Self {
        let lock = folder.path(LOCKS).join(format!("soldiers-{}.lock", general.name));
        Self { general, channel, coordinator, guards: Guards::of_own_binary(lock) }
    }
}

/// Runs a general's tasks until told to stop: then soldiers are ended, and their tasks taken up by the next life.
pub async fn run(
    folder: Arc<Folder>,
    post: GeneralSetup,
    stop: CancellationToken,
) -> Result<(), GeneralError> {
    let executors = executors(&folder, &post)?;
    if !is_alone(&post.guards, &stop).await? {
        return Ok(());
    }
    let mut mind = GeneralMind::new(post.general, post.channel);
    mind.recover(&folder, Clock.now())?;
    let listening = executors.clone();
    tokio::select! {
        () = work(&folder, &mut mind, &executors, &stop) => Ok(()),
        () = listening.listen() => Ok(()),
    }
}

fn executors(folder: &Arc<Folder>, post: &GeneralSetup) -> Result<Executors, GeneralError> {
    let general = Arc::new(post.general.clone());
    let Some(fleet) = Fleet::of(general.executor) else {
        let (folder, guards) = (Arc::clone(folder), Arc::new(post.guards.clone()));
        return Ok(Executors::Soldiers(Soldiers { folder, general, guards }));
    };
    let coordinator = post.coordinator.as_ref();
    let coordinator = coordinator.ok_or_else(|| GeneralError::NoCoordinator(general.name.clone()))?;
    let bridge = Bridge::new(Arc::clone(folder), fleet, general.limit_s(), coordinator)?;
    Ok(Executors::Fleet(Arc::new(bridge)))
}

/// Waits until nothing of an earlier life runs any more; says no if it was told to stop before.
async fn is_alone(guards: &Guards, stop: &CancellationToken) -> Result<bool, GeneralError> {
    tokio::select! {
        waited = wait_for_earlier_guards(&guards.lock) => {
            let path = guards.lock.clone();
            waited.map(|()| true).map_err(|error| GeneralError::Earlier { path, error })
        }
        () = stop.cancelled() => Ok(false),
    }
}

async fn work(folder: &Arc<Folder>, mind: &mut GeneralMind, executors: &Executors, stop: &CancellationToken) {
    let wake = Wake::on(&[&folder.directory(Place::TasksPending)], POLL);
    let role = mind.role();
    let mut attempts: JoinSet<Over> = JoinSet::new();
    let mut is_news = true;
    while !stop.is_cancelled() {
        let now = Clock.now();
        folder.beat(&role, now);
        let starts = if is_news { mind.next(folder, now) } else { mind.claim(folder, now) };
        for start in starts {
            attempts.spawn(executors.clone().execute(start, stop.clone()));
        }
        // Soldiers start before people are told of it.
        tokio::task::yield_now().await;
        mind.announce(folder, now);
        let limit = mind.next_deadline().map(|due| wait_until(due, Clock.now()));
        tokio::select! {
            Some(over) = attempts.join_next() => {
                is_news = false;
                note(folder, mind, over.map_or_else(|error| std::panic::resume_unwind(error.into_panic()), Some));
            }
            () = wake.wait(limit) => is_news = true,
            () = stop.cancelled() => {}
        }
    }
    while let Some(over) = attempts.join_next().await {
        note(folder, mind, over.ok());
    }
}

fn note(folder: &Folder, mind: &mut GeneralMind, over: Option<Over>) {
    match over {
        Some((task, Some(ending))) => mind.ended(Step { folder, now: Clock.now() }, &task, ending),
        Some((task, None)) => {
            if let Err(fault) = mind.interrupted(folder, &task, Clock.now()) {
                tracing::warn!(%task, %fault, "an interrupted attempt could not be recorded: the next life does");
            }
        }
        None => {}
    }
}

impl Executors {
    async fn execute(self, start: Start, stop: CancellationToken) -> Over {
        let ending = match &self {
            Self::Soldiers(barracks) => barracks.serve(&start, &stop).await,
            Self::Fleet(bridge) => bridge.follow(&start, &stop).await,
        };
        (start.task, ending)
    }

    /// Hears what happens at the coordinator; soldiers have nothing to tell.
    async fn listen(self) {
        match self {
            Self::Soldiers(_) => std::future::pending().await,
            Self::Fleet(bridge) => bridge.listen().await,
        }
    }
}

/// The polling interval, in case no notification arrives (C20).
const POLL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
