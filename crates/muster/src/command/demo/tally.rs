//! What a node counts about itself, for the view while it runs and for the check at the end.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// One node's counts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Attempts ended and acknowledged.
    pub(super) jobs: Count,
    /// Slots in use now.
    pub(super) busy: Count,
    /// Reports acknowledged, each once, heartbeats left out.
    pub(super) reports: Count,
    /// Heartbeats acknowledged.
    pub(super) heartbeats: Count,
    /// Answers to reports that were lost on purpose.
    pub(super) lost_answers: Count,
    /// Answers that said `duplicate`.
    pub(super) duplicates: Count,
    /// Answers that said `stale`.
    pub(super) stale: Count,
    /// Jobs in answers to pulls that were lost on purpose.
    pub(super) lost_jobs: Count,
    /// Of those, the ones handed out again.
    pub(super) redelivered: Count,
    waits: Mutex<Waits>,
    faults: Mutex<Vec<String>>,
}

/// A number that several tasks count up.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

#[derive(Debug, Default)]
struct Waits {
    freed: VecDeque<Instant>,
    waited: Vec<Duration>,
}

impl Count {
    pub(super) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(super) fn take_one(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Tally {
    /// A slot's work is over; what follows until its next job is the coordinator's time.
    pub(super) fn slot_freed(&self) {
        self.waits().freed.push_back(Instant::now());
    }

    /// A job came for the slot that has been free the longest. The first jobs of a run waited for the run, not for the
    /// coordinator, and are not measured.
    pub(super) fn slot_filled(&self, begins_run: bool) {
        let mut waits = self.waits();
        if let Some(freed) = waits.freed.pop_front()
            && !begins_run
        {
            waits.waited.push(freed.elapsed());
        }
    }

    /// How long slots were free before their next job.
    pub(super) fn waited(&self) -> Vec<Duration> {
        self.waits().waited.clone()
    }

    /// Something that must not happen happened.
    pub(super) fn fault(&self, what: String) {
        tracing::warn!(what, "the demo's node met what it should not");
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(what);
    }

    pub(super) fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
