//! The feed: numbered without gap or repeat over all lives, and never ahead of the store.

use super::{Checker, Verdict, ensure};
use muster_store::{Batch, FeedEntry};

impl Checker {
    /// A batch's part of the feed is durable with it.
    pub(super) fn feed_is_durable(&mut self, batch: &Batch) -> Verdict {
        for entry in &batch.feed {
            let last = self.mirror.feed;
            ensure(entry.seq == last + 1, "feed_numbers", || format!("{} after {last}", entry.seq))?;
            self.mirror.feed = entry.seq;
        }
        Ok(())
    }

    /// Subscribers are told; one that was away reads from the store what it missed.
    pub(crate) fn told(&mut self, entries: &[FeedEntry]) -> Verdict {
        for entry in entries {
            ensure(entry.seq <= self.mirror.feed, "feed_ahead_of_store", || {
                format!("{} was told, {} is durable", entry.seq, self.mirror.feed)
            })?;
            ensure(entry.seq > self.told, "feed_repeats", || format!("{} was told twice", entry.seq))?;
            self.told = entry.seq;
        }
        Ok(())
    }

    /// One that leads no more tells what it committed while it did; whoever leads now tells what follows.
    pub(crate) fn told_late(&self, entries: &[FeedEntry]) -> Verdict {
        let last = entries.last().map_or(0, |entry| entry.seq);
        ensure(last <= self.mirror.feed, "feed_ahead_of_store", || {
            format!("{last} was told, {} is durable", self.mirror.feed)
        })
    }
}
