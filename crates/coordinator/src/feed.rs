//! The feed in memory, without a gap.

use muster_store::{FeedEntry, Reader, StoreError};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// Entries kept in memory for subscribers that keep up.
const RECENT_MAX: usize = 8192;
/// Entries given at once.
const PAGE_MAX: usize = 500;

/// The feed of everything that became durable.
pub struct Feed {
    recent: Mutex<VecDeque<Arc<FeedEntry>>>,
    newest: watch::Sender<u64>,
    reader: Arc<dyn Reader>,
}

/// Reason why the feed cannot go on from where the subscriber stopped.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// History was pruned past that point.
    #[error("entries up to {oldest} are no longer kept")]
    Gone {
        /// The oldest number still kept.
        oldest: u64,
    },
    /// A read failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The server is shutting down, or leads no more.
    #[error("the server is stopping or does not lead")]
    Closed,
}

impl Feed {
    /// A feed whose store has given out numbers up to `seq`: whoever resumes while the first term is still being
    /// loaded must not hear that its number never was. `None`: it is closed until a term begins.
    pub(crate) fn new(reader: Arc<dyn Reader>, seq: Option<u64>) -> Self {
        Self { recent: Mutex::default(), newest: watch::Sender::new(seq.unwrap_or(CLOSED)), reader }
    }

    /// Waits until there is something after `seq` and gives it, oldest first, contiguous.
    ///
    /// # Errors
    /// When the entries after `seq` are gone, or a read failed.
    pub async fn after(&self, seq: u64) -> Result<Vec<Arc<FeedEntry>>, FeedError> {
        let mut newest = self.newest.subscribe();
        newest.wait_for(|newest| *newest > seq).await.map_err(|_| FeedError::Closed)?;
        if *newest.borrow() == CLOSED {
            return Err(FeedError::Closed);
        }
        match self.recent_after(seq) {
            Some(entries) => Ok(entries),
            None => self.stored_after(seq).await,
        }
    }

    /// The number of the newest entry.
    ///
    /// # Errors
    /// `Closed`, when it goes on elsewhere.
    pub fn newest(&self) -> Result<u64, FeedError> {
        match *self.newest.borrow() {
            CLOSED => Err(FeedError::Closed),
            newest => Ok(newest),
        }
    }

    /// Begins a term whose store has given out numbers up to `seq`.
    pub(crate) fn resume(&self, seq: u64) {
        self.lock().clear();
        self.newest.send_replace(seq);
    }

    pub(crate) fn publish(&self, entries: &[Arc<FeedEntry>]) {
        let Some(last) = entries.last() else { return };
        let mut recent = self.lock();
        recent.extend(entries.iter().cloned());
        let surplus = recent.len().saturating_sub(RECENT_MAX);
        recent.drain(..surplus);
        drop(recent);
        self.newest.send_replace(last.seq);
    }

    /// Ends all subscriptions; whoever comes back with its last number misses nothing.
    pub(crate) fn close(&self) {
        self.newest.send_replace(CLOSED);
    }

    fn recent_after(&self, seq: u64) -> Option<Vec<Arc<FeedEntry>>> {
        let recent = self.lock();
        let first = recent.front()?.seq;
        let skip = usize::try_from((seq + 1).checked_sub(first)?).ok()?;
        Some(recent.iter().skip(skip).take(PAGE_MAX).cloned().collect())
    }

    async fn stored_after(&self, seq: u64) -> Result<Vec<Arc<FeedEntry>>, FeedError> {
        let reader = Arc::clone(&self.reader);
        let page = tokio::task::spawn_blocking(move || reader.feed(seq, PAGE_MAX as u32));
        let page = page.await.map_err(|_| FeedError::Closed)??;
        match page.entries.first() {
            Some(first) if first.seq == seq + 1 => Ok(page.entries),
            _ => Err(FeedError::Gone { oldest: page.oldest }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<FeedEntry>>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Larger than any number of the feed: wakes every subscriber for the last time.
const CLOSED: u64 = u64::MAX;
