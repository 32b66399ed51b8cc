//! What subscribers are told, without a gap.

use muster_store::FeedEntry;

/// The feed of everything that became durable.
pub struct Feed {}

/// Why the feed cannot go on from where the subscriber stopped.
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
    Store(#[from] muster_store::StoreError),
    /// The server is shutting down.
    #[error("the server is stopping")]
    Closed,
}

impl Feed {
    /// Waits until there is something after `seq` and gives it, oldest first, contiguous.
    ///
    /// # Errors
    /// When the entries after `seq` are gone, or a read failed.
    pub async fn after(&self, seq: u64) -> Result<Vec<FeedEntry>, FeedError> {
        let _ = seq;
        todo!()
    }

    /// The number of the newest entry.
    #[must_use]
    pub fn newest(&self) -> u64 {
        todo!()
    }
}
