//! The pool as handlers see it: who a worker is, what a job's payload is, when a job ends.

mod payloads;
mod watch;

pub use watch::JobWatch;

use crate::{Coordinator, Refusal, driver::Message};
use muster_model::{
    PoolChange, PoolHandout, PoolJobId, PoolStatus, PoolWork, PoolWorkReply, PoolWorkerId, Timestamp, UserId,
    ask,
};
use payloads::Payloads;
use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::sync::oneshot;
use watch::Watchers;

/// What is durable of the pool and looked up for every request. What a commit changed is in here before anybody is
/// told of it.
#[derive(Default)]
pub struct PoolDirectory {
    members: RwLock<HashMap<PoolWorkerId, Arc<PoolMember>>>,
    payloads: Payloads,
    watchers: Arc<Watchers>,
}

/// A worker of the pool.
#[derive(Debug)]
pub struct PoolMember {
    /// Whose.
    pub owner: UserId,
    /// What verifies its results; any text (P3).
    pub public_key: Option<Box<str>>,
    /// Milliseconds; 0: never.
    seen: AtomicI64,
}

impl PoolDirectory {
    /// A worker by id.
    #[must_use]
    pub fn worker(&self, id: PoolWorkerId) -> Option<Arc<PoolMember>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    /// The payload of a job, if it was handed in lately and is not over; else ask the store.
    #[must_use]
    pub fn payload(&self, job: PoolJobId) -> Option<Arc<str>> {
        self.payloads.get(job)
    }

    /// Watches for the end of a job, from now on. Look at the job after this and before you wait.
    #[must_use]
    pub fn watch(&self, job: PoolJobId) -> JobWatch {
        Watchers::watch(&self.watchers, job)
    }

    /// Takes over what became durable.
    pub(crate) fn follow(&self, change: &PoolChange) {
        match change {
            PoolChange::Worker(record) => {
                let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
                let before = members.get(&record.id).map_or(0, |member| member.seen.load(Ordering::Relaxed));
                let seen = record.last_seen.map_or(0, |at| at.0).max(before);
                let public_key = record.public_key.clone();
                let member = PoolMember { owner: record.owner, public_key, seen: AtomicI64::new(seen) };
                members.insert(record.id, Arc::new(member));
            }
            PoolChange::Job(job) => self.payloads.put(job.id, &job.draft.payload),
            PoolChange::End(end) => {
                self.payloads.remove(end.job);
                self.watchers.tell(end.job);
            }
            PoolChange::Assignment(_) | PoolChange::Key(_) | PoolChange::Counters(_) => {}
        }
    }

    /// Forgets all; whoever waits for the end of a job looks for itself.
    pub(crate) fn clear(&self) {
        self.members.write().unwrap_or_else(PoisonError::into_inner).clear();
        self.payloads.clear();
        self.watchers.tell_all();
    }

    fn note_seen(&self, worker: PoolWorkerId, at: Timestamp) {
        if let Some(member) = self.worker(worker) {
            member.seen.fetch_max(at.0, Ordering::Relaxed);
        }
    }
}

impl PoolMember {
    /// Its last heartbeat or poll; newer than what the store holds.
    #[must_use]
    pub fn last_seen(&self) -> Option<Timestamp> {
        Some(self.seen.load(Ordering::Relaxed)).filter(|at| *at > 0).map(Timestamp)
    }
}

impl Coordinator {
    /// What is looked up for every request of contract P; nothing while no term runs here or another may.
    #[must_use]
    pub fn pool(&self) -> &PoolDirectory {
        if self.is_ready() { &self.shared.pool } else { &self.shared.nobody.1 }
    }

    /// A worker shows that it lives (P5).
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn beat_pool(&self, worker: PoolWorkerId, owner: UserId) -> Result<Timestamp, Refusal> {
        let at = self.ask(ask::pool::Beat { worker, owner }).await?;
        self.pool().note_seen(worker, at);
        Ok(at)
    }

    /// Asks for an assignment for a worker; waits up to `wait` for one (P6).
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn poll_pool(
        &self,
        poll: ask::pool::Poll,
        wait: Duration,
    ) -> Result<Option<PoolHandout>, Refusal> {
        let worker = poll.worker;
        let handout = self.ask_and_wait(poll, wait).await?;
        self.pool().note_seen(worker, self.now());
        Ok(handout)
    }

    /// Hands in results for a worker and asks for more work (P19); waits up to `wait` if there is nothing to answer.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn work_pool(&self, work: PoolWork, wait: Duration) -> Result<PoolWorkReply, Refusal> {
        let worker = work.worker;
        let worked = self.ask_and_wait(work, wait).await?;
        self.pool().note_seen(worker, self.now());
        Ok(worked)
    }

    /// The pool, counted.
    ///
    /// # Errors
    /// Too many waiting requests, or no term runs.
    pub async fn pool_status(&self) -> Result<PoolStatus, Refusal> {
        let _place = self.place()?;
        let (reply, answer) = oneshot::channel();
        self.shared.inbox.send(Message::PoolStatus(reply)).map_err(|_| Refusal::Unavailable)?;
        answer.await.map_err(|_| Refusal::Unavailable)
    }
}
