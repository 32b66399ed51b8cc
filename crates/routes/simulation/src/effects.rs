//! Effects: work outside that follows once a decision is durable: pushes, removals, moves and manifests (S3, S6, S15, S21).
//!
//! Each effect may come twice, and comes again with every term, so doing one twice is harmless and losing one with the
//! process is too. What fails for the disk's sake is tried again until it works or the term is over; a push is tried
//! once, since the engine says when the next try is due.

mod persist;
pub(crate) mod push;
mod sessions;

#[cfg(test)]
mod tests;

use crate::simulation::Simulation;
use muster_contract_simulation::{RemovalNotice, to_bytes};
use muster_coordinator::{Coordinator, Refusal};
use muster_model::{
    Ask, Effect, EntryId, FrameHandout, QuarantineRecord, SessionId,
    ask::frames::{Dismissed, Moved, Pushed},
};
use persist::{Complaints, Trouble, Turns, Wish};
use push::{Courier, Errand, Push, Target};
use std::{fmt::Debug, sync::Arc, time::Duration};
use tokio::{sync::Semaphore, task::JoinSet};

/// Carries out what is due, until it is dropped. The first caller has all of it.
pub(crate) async fn run_effects(simulation: Simulation) {
    let Some(mut due) = simulation.0.coordinator.take_effects() else {
        tracing::error!("effects are carried out elsewhere already");
        return;
    };
    let runner = Arc::new(Runner::new(simulation));
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            effect = due.recv() => match effect {
                Some(effect) => _ = under_way.spawn(Arc::clone(&runner).carry_out(effect)),
                None => break,
            },
            Some(ended) = under_way.join_next() => {
                if let Err(error) = ended {
                    tracing::error!(%error, "an effect was lost; the next start finds it again");
                }
            }
        }
    }
}

/// State that all effects share.
struct Runner {
    simulation: Simulation,
    courier: Courier,
    complaints: Complaints,
    entries: Turns<EntryId>,
    sessions: Turns<SessionId>,
    /// Hashing keeps a disk busy; a manifest must not wait for it.
    movers: Semaphore,
    writers: Semaphore,
}

impl Runner {
    fn new(simulation: Simulation) -> Self {
        Self {
            simulation,
            courier: Courier::new(),
            complaints: Complaints::default(),
            entries: Turns::default(),
            sessions: Turns::default(),
            movers: Semaphore::new(AT_THE_DISK_MAX),
            writers: Semaphore::new(AT_THE_DISK_MAX),
        }
    }

    fn coordinator(&self) -> &Coordinator {
        &self.simulation.0.coordinator
    }

    async fn carry_out(self: Arc<Self>, effect: Effect) {
        let epoch = self.coordinator().epoch();
        match effect {
            Effect::Push { worker, endpoint, token_hash, handout } => {
                let target = Target { worker: &worker, endpoint: &endpoint, key: &token_hash };
                self.push(target, *handout).await;
            }
            Effect::Dismiss { worker, endpoint, token_hash } => {
                self.dismiss(Target { worker: &worker, endpoint: &endpoint, key: &token_hash }).await;
            }
            Effect::Quarantine(record) => self.quarantine(record, epoch).await,
            Effect::WriteSession { session } => self.tend(session, Wish { epoch, merge: None }).await,
            Effect::Merge { session, mark } => self.tend(session, Wish { epoch, merge: Some(mark) }).await,
        }
    }

    /// Brings a task to a worker, and tells whether it was taken (S3).
    async fn push(&self, target: Target<'_>, handout: FrameHandout) {
        let Target { worker, endpoint, .. } = target;
        let (task, attempt) = (handout.task.clone(), handout.attempt);
        let body = match self.simulation.task_body(handout).await {
            Ok(body) => body,
            Err(error) => {
                tracing::warn!(%worker, %task, %error, "cannot describe a task");
                return self.tell(Pushed { task, attempt, acked: false }).await;
            }
        };
        let push = Push { errand: Errand::Task, target, body };
        let brought = self.courier.bring(&push).await;
        if let Err(error) = &brought {
            tracing::info!(%worker, %task, attempt, endpoint, %error, "a push was not taken");
        }
        self.tell(Pushed { task, attempt, acked: brought.is_ok() }).await;
    }

    /// Tells a removed worker to stop, and whether it acknowledged. It is tried three times: a worker that is told by none
    /// of them is a zombie before long (S6).
    async fn dismiss(&self, target: Target<'_>) {
        let Target { worker, endpoint, .. } = target;
        let body = to_bytes(&RemovalNotice::new(worker.as_str()));
        let push = Push { errand: Errand::Removal, target, body };
        for pause in DISMISS_PAUSES {
            tokio::time::sleep(pause).await;
            match self.courier.bring(&push).await {
                Ok(()) => return self.tell(Dismissed { worker: worker.clone() }).await,
                Err(error) => tracing::info!(%worker, endpoint, %error, "a removed worker was not reached"),
            }
        }
    }

    /// Moves files to quarantine, and tells how many there are (S15).
    async fn quarantine(&self, record: Box<QuarantineRecord>, epoch: u64) {
        let entry = &record.id;
        if !self.entries.begin(entry, Wish { epoch, merge: None }) {
            return;
        }
        let record = Arc::new((*record).clone());
        while let Some(wish) = self.entries.take(entry) {
            let moved =
                self.persist("move files to quarantine", wish.epoch, || self.set_apart(&record)).await;
            // More came meanwhile: it is told once all of it is there.
            if let (Some(files), false) = (moved, self.entries.is_wanted(entry)) {
                self.tell(Moved { entry: entry.clone(), files }).await;
            }
        }
    }

    async fn set_apart(&self, record: &Arc<QuarantineRecord>) -> Result<u64, Trouble> {
        let _place = self.movers.acquire().await;
        let record = Arc::clone(record);
        self.on_disk(move |root| root.quarantine(&record)).await
    }

    /// Tells the engine what was done; what it makes of it is its own affair.
    async fn tell(&self, done: impl Ask<Reply = ()> + Clone + Debug) {
        let ask = || async {
            match self.coordinator().ask(done.clone()).await {
                Err(Refusal::Rejected(rejection)) => {
                    tracing::debug!(?done, ?rejection, "what was done is no longer of interest");
                    Ok(())
                }
                told => told.map_err(Trouble::from),
            }
        };
        self.persist("tell what was done", self.coordinator().epoch(), ask).await;
    }
}

/// The delays before each try to reach a removed worker.
const DISMISS_PAUSES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(2)];
/// More at once only make the disk slower.
const AT_THE_DISK_MAX: usize = 4;
