//! What the snapshots are made of: the feed as it was counted, and what was looked at lately.

use crate::{fleet::Fleet, kept::Kept, pulse::Pulse, settings::Setting};
use bytes::Bytes;
use muster_coordinator::{Coordinator, FeedError, Lead, Refusal};
use muster_door::Problem;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// What the snapshots are made of. Cheap to clone.
#[derive(Clone)]
pub struct Dashboard(pub(crate) Arc<Parts>);

/// What the server knows about itself.
#[derive(Clone, Debug)]
pub struct About {
    /// Where others reach it.
    pub address: String,
    /// The kind of store it has: `sqlite`, `postgres`, `memory`.
    pub store: &'static str,
    /// The settings in force, without secrets.
    pub settings: Vec<Setting>,
}

pub(crate) struct Parts {
    pub(crate) about: About,
    pub(crate) fleet: Kept<Arc<Fleet>>,
    pub(crate) overview: Kept<Bytes>,
    coordinator: Coordinator,
    pulse: Mutex<Pulse>,
}

impl Dashboard {
    /// A dashboard of a server; it counts nothing yet.
    #[must_use]
    pub fn new(coordinator: Coordinator, about: About) -> Self {
        let pulse = Mutex::new(Pulse::new(coordinator.now()));
        let (fleet, overview) = (Kept::default(), Kept::default());
        Self(Arc::new(Parts { about, fleet, overview, coordinator, pulse }))
    }

    /// Counts what the feed tells, for as long as it is polled and while this server leads.
    ///
    /// It begins with what comes next: a start does not wait for history, and every term counts from its own beginning.
    pub async fn follow_feed(&self) {
        let mut lead = self.0.coordinator.watch_lead();
        while lead.wait_for(|lead| matches!(lead, Lead::Here { .. })).await.is_ok() {
            let ended = self.follow_term().await;
            tracing::debug!(error = %ended, "the feed is no more counted");
            // Whoever leads no more may not have said so yet.
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn follow_term(&self) -> FeedError {
        let feed = self.0.coordinator.feed();
        let mut seq = match feed.newest() {
            Ok(seq) => seq,
            Err(closed) => return closed,
        };
        *self.0.pulse() = Pulse::new(self.0.coordinator.now());
        loop {
            let entries = match feed.after(seq).await {
                Ok(entries) => entries,
                Err(error) => return error,
            };
            let mut pulse = self.0.pulse();
            for entry in entries {
                pulse.note(&entry.kind, &entry.body);
                seq = entry.seq;
            }
        }
    }
}

impl Parts {
    pub(crate) fn pulse(&self) -> MutexGuard<'_, Pulse> {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No read of these is ever rejected by a rule.
pub(crate) fn refuse(refusal: Refusal) -> Problem {
    Problem::of_refusal(refusal, |rejection| {
        Problem::internal(&format_args!("a read was refused: {rejection:?}"))
    })
}

/// The feed's newest number, to be asked for before anything is read: whoever subscribes after it misses nothing (I8).
pub(crate) fn newest(coordinator: &Coordinator) -> Result<u64, Problem> {
    coordinator.feed().newest().map_err(|_closed| Problem::busy("this server is stopping or does not lead"))
}

const PAUSE: Duration = Duration::from_millis(100);
