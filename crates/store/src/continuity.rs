//! The numbers of the feed have no gaps.

use crate::{FeedEntry, StoreError};

/// Checks that entries continue the feed after `last`; answers the last number there is then.
///
/// # Errors
/// Names the first entry that does not follow the one before it: a subscriber could not tell it from
/// a loss.
pub fn continue_feed(last: u64, entries: &[FeedEntry]) -> Result<u64, StoreError> {
    entries.iter().try_fold(last, |last, entry| {
        if entry.seq == last + 1 {
            Ok(entry.seq)
        } else {
            Err(StoreError::Corrupt(format!("feed {}: does not follow {last}", entry.seq)))
        }
    })
}
