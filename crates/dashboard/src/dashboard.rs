//! The data behind the snapshots: counts of the feed, and recent readings.

use crate::{fleet::Fleet, pulse::Pulse, settings::Setting};
use bytes::Bytes;
use muster_coordinator::{Coordinator, FeedError, Lead, Refusal};
use muster_http::{Kept, Problem};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The data behind the snapshots. Cheap to clone.
#[derive(Clone)]
pub struct Dashboard(pub(crate) Arc<Parts>);

/// The server's description of itself.
#[derive(Clone, Debug)]
pub struct About {
    /// Its address for others.
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
        let pulse = Mutex::new(Pulse::new(coordinator.now(), 0));
        let (fleet, overview) = (Kept::default(), Kept::default());
        Self(Arc::new(Parts { about, fleet, overview, coordinator, pulse }))
    }

    /// Counts what the feed tells, for as long as it is polled and while this server leads.
    ///
    /// It begins with what comes next: a start does not wait for history, and every term counts from its own beginning.
    pub async fn follow_feed(&self) {
        let mut lead = self.0.coordinator.watch_lead();
        let mut counted = None;
        while lead.wait_for(|lead| matches!(lead, Lead::Here { .. })).await.is_ok() {
            let ended = self.follow_term(&mut counted).await;
            tracing::debug!(error = %ended, "the feed is no more counted");
            // A server that has lost the leadership may not have reported it yet.
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// `counted`: the epoch whose entries are counted. Where it is the same as before, counting goes on.
    async fn follow_term(&self, counted: &mut Option<u64>) -> FeedError {
        let (coordinator, feed) = (&self.0.coordinator, self.0.coordinator.feed());
        let epoch = Some(coordinator.epoch());
        match feed.newest() {
            Ok(newest) if *counted != epoch => *self.0.pulse() = Pulse::new(coordinator.now(), newest),
            Ok(_) => {}
            Err(closed) => return closed,
        }
        *counted = epoch;
        loop {
            let seq = self.0.pulse().seq();
            match (feed.after(seq).await, feed.newest()) {
                (Ok(entries), _) => {
                    let mut pulse = self.0.pulse();
                    entries.iter().for_each(|entry| pulse.note(entry.seq, &entry.kind, &entry.body));
                }
                (Err(FeedError::Gone { .. }), Ok(newest)) => self.0.pulse().skip_to(newest),
                (Err(error), _) => return error,
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
    muster_http::problem_of_refusal(refusal, |rejection| {
        Problem::internal(&format_args!("a read was refused: {rejection:?}"))
    })
}

/// The feed's newest number, to be asked for before anything is read: whoever subscribes after it misses nothing (I8).
pub(crate) fn newest(coordinator: &Coordinator) -> Result<u64, Problem> {
    coordinator.feed().newest().map_err(|_closed| Problem::busy("this server is stopping or does not lead"))
}

const PAUSE: Duration = Duration::from_millis(100);
