//! Waiting for the end of a job.

use muster_model::PoolJobId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::watch;

/// Whoever waits for the end of a job.
#[derive(Default)]
pub(super) struct Watchers(Mutex<HashMap<PoolJobId, watch::Sender<()>>>);

/// One who waits; going away ends it.
pub struct JobWatch {
    watchers: Arc<Watchers>,
    job: PoolJobId,
    end: watch::Receiver<()>,
}

impl Watchers {
    pub(super) fn watch(watchers: &Arc<Self>, job: PoolJobId) -> JobWatch {
        let mut all = watchers.0.lock().unwrap_or_else(PoisonError::into_inner);
        let end = all.entry(job).or_insert_with(|| watch::Sender::new(())).subscribe();
        JobWatch { watchers: Arc::clone(watchers), job, end }
    }

    /// Tells all who wait for a job.
    pub(super) fn tell(&self, job: PoolJobId) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&job));
    }

    /// Tells all who wait for any: whether theirs has ended is not known here any more.
    pub(super) fn tell_all(&self) {
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
