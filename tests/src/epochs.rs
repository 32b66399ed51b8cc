//! Terms, as those see them who are told.

use crate::Answer;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// The newest epoch that an acknowledgement named; shared by all who call the same servers.
#[derive(Clone, Debug, Default)]
pub struct Epochs(Arc<AtomicU64>);

impl Epochs {
    /// The newest one so far.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Holds an acknowledged write to S18: it was asked for when `before` was the newest epoch, so it is of none older.
    pub(crate) fn witness(&self, before: u64, answer: &Answer) {
        let Some(epoch) = answer.epoch() else { return };
        assert!(epoch >= before, "acknowledged in epoch {epoch} after {before} had begun: {answer:?}");
        self.0.fetch_max(epoch, Ordering::SeqCst);
    }
}
