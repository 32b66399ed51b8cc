//! The pool as handlers see it: workers, cached payloads, and waiting for the end of a job.

use crate::{Coordinator, Refusal};
use muster_model::{
    PoolChange, PoolHandout, PoolJobId, PoolWork, PoolWorkReply, PoolWorkerId, Timestamp, UserId, ask,
};
use quick_cache::{Weighter, sync::Cache};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

/// The durable part of the pool that every request looks up. What a commit changed is in here before anybody is
/// told of it.
#[derive(Default)]
pub struct PoolDirectory {
    members: RwLock<HashMap<PoolWorkerId, Arc<PoolMember>>>,
    payloads: PayloadCache,
    watchers: Arc<Watchers>,
}

/// A worker of the pool.
#[derive(Debug)]
pub struct PoolMember {
    /// The owner.
    pub owner: UserId,
    /// Public key that verifies its results; any text (P3).
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
        self.payloads.0.get(&job)
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
                self.payloads.0.remove(&end.job);
                self.watchers.tell(end.job);
            }
            PoolChange::Assignment(_) | PoolChange::Key(_) | PoolChange::Counters(_) => {}
        }
    }

    /// Forgets all; whoever waits for the end of a job looks for itself.
    pub(crate) fn clear(&self) {
        self.members.write().unwrap_or_else(PoisonError::into_inner).clear();
        self.payloads.0.clear();
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
    /// The directory of the pool; empty while no term runs here or another may.
    #[must_use]
    pub fn pool(&self) -> &PoolDirectory {
        if self.is_ready() { &self.shared.pool } else { &self.shared.nobody.1 }
    }

    /// A worker shows that it lives (P5).
    pub async fn beat_pool(&self, worker: PoolWorkerId, owner: UserId) -> Result<Timestamp, Refusal> {
        let at = self.ask(ask::pool::Beat { worker, owner }).await?;
        self.pool().note_seen(worker, at);
        Ok(at)
    }

    /// Asks for an assignment for a worker; waits up to `wait` for one (P6).
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
    pub async fn work_pool(&self, work: PoolWork, wait: Duration) -> Result<PoolWorkReply, Refusal> {
        let worker = work.worker;
        let worked = self.ask_and_wait(work, wait).await?;
        self.pool().note_seen(worker, self.now());
        Ok(worked)
    }
}

/// Requests that wait for the end of a job.
#[derive(Default)]
struct Watchers(Mutex<HashMap<PoolJobId, watch::Sender<()>>>);

/// One who waits; going away ends it.
pub struct JobWatch {
    watchers: Arc<Watchers>,
    job: PoolJobId,
    end: watch::Receiver<()>,
}

impl Watchers {
    fn watch(watchers: &Arc<Self>, job: PoolJobId) -> JobWatch {
        let mut all = watchers.0.lock().unwrap_or_else(PoisonError::into_inner);
        let end = all.entry(job).or_insert_with(|| watch::Sender::new(())).subscribe();
        JobWatch { watchers: Arc::clone(watchers), job, end }
    }

    /// Tells all who wait for a job.
    fn tell(&self, job: PoolJobId) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&job));
    }

    /// Tells all who wait for any: whether theirs has ended is not known here any more.
    fn tell_all(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl JobWatch {
    /// Waits until the job has ended, or the term that knows of it; gives up after a while.
    pub async fn ended(mut self, wait: Duration) {
        // The sender goes away when the job ends; until then nothing is ever sent.
        let _ = tokio::time::timeout(wait, self.end.changed()).await;
    }
}

impl Drop for JobWatch {
    fn drop(&mut self) {
        let mut all = self.watchers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get(&self.job).is_some_and(|end| end.receiver_count() <= 1) {
            all.remove(&self.job);
        }
    }
}

/// The payloads of jobs submitted lately, so that handing them out costs no read; bounded by their bytes.
struct PayloadCache(Cache<PoolJobId, Arc<str>, PayloadBytes>);

impl PayloadCache {
    /// Keeps a payload; an empty one was left out and is none.
    fn put(&self, job: PoolJobId, payload: &Arc<str>) {
        if !payload.is_empty() && payload.len() <= PAYLOAD_BYTES_MAX {
            self.0.insert(job, Arc::clone(payload));
        }
    }
}

impl Default for PayloadCache {
    fn default() -> Self {
        Self(Cache::with_weighter(PAYLOADS_EXPECTED, PAYLOADS_BYTES_MAX, PayloadBytes))
    }
}

#[derive(Clone)]
struct PayloadBytes;

impl Weighter<PoolJobId, Arc<str>> for PayloadBytes {
    fn weight(&self, _: &PoolJobId, payload: &Arc<str>) -> u64 {
        payload.len() as u64 + ENTRY_BYTES
    }
}

const PAYLOADS_BYTES_MAX: u64 = 64 << 20;
const PAYLOADS_EXPECTED: usize = 64 << 10;
const PAYLOAD_BYTES_MAX: usize = 64 << 10;
/// About what an entry costs beside its text.
const ENTRY_BYTES: u64 = 96;

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory stays bounded however many jobs come; those that ended cost nothing.
    #[test]
    fn payloads_are_bounded_by_their_bytes() {
        let payloads = PayloadCache::default();
        let payload: Arc<str> = "x".repeat(PAYLOAD_BYTES_MAX).into();
        (1..=3_000).for_each(|job| payloads.put(PoolJobId(job), &payload));
        assert!(payloads.0.weight() <= PAYLOADS_BYTES_MAX);
        assert!(payloads.0.len() > 900, "most of the room is used: {}", payloads.0.len());
        (1..=3_000).for_each(|job| _ = payloads.0.remove(&PoolJobId(job)));
        assert_eq!(payloads.0.weight(), 0);
        payloads.put(PoolJobId(7), &"".into());
        assert!(payloads.0.get(&PoolJobId(7)).is_none());
    }
}
