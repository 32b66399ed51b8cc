//! How long a server leaves be what did not help.

use muster_model::{Millis, Timestamp};
use std::time::Duration;

/// After terms in which nothing could be written: each costs an epoch, and a full disk is full for a while.
#[derive(Default)]
pub(crate) struct TermBackoff {
    in_vain: u32,
}

impl TermBackoff {
    /// How long no term is begun after one that failed.
    pub(crate) fn after(&mut self, has_committed: bool) -> Duration {
        self.in_vain = if has_committed { 0 } else { self.in_vain.saturating_add(1) };
        let doublings = self.in_vain.saturating_sub(1).min(DOUBLINGS_MAX);
        (RETRY_TERM_AFTER * (1 << doublings)).min(RETRY_TERM_MAX)
    }
}

/// After everything was read ahead for nothing: a leader that is only slow now and then is not to make its followers read
/// all the tables each time.
#[derive(Default)]
pub(crate) struct ReadAheadBackoff {
    /// The leader's.
    epoch: u64,
    in_vain: u32,
    not_before: Option<Timestamp>,
}

impl ReadAheadBackoff {
    /// Whether it is worth reading ahead while the leader of a term is silent.
    pub(crate) fn allows(&mut self, epoch: u64, now: Timestamp) -> bool {
        if self.epoch != epoch {
            *self = Self { epoch, ..Self::default() };
        }
        self.not_before.is_none_or(|not_before| now >= not_before)
    }

    /// What was read was of no use.
    pub(crate) fn was_in_vain(&mut self, lease: Millis, now: Timestamp) {
        self.in_vain = self.in_vain.saturating_add(1);
        self.not_before = Some(now + Millis(lease.0 << self.in_vain.min(DOUBLINGS_MAX)));
    }
}

/// How long nothing is tried after a term failed.
pub(crate) const RETRY_TERM_AFTER: Duration = Duration::from_millis(500);

const RETRY_TERM_MAX: Duration = Duration::from_secs(10);
const DOUBLINGS_MAX: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    /// S18: terms in which nothing could be written follow each other ever more slowly, until one wrote something.
    #[test]
    fn terms_in_vain_come_slower() {
        let mut backoff = TermBackoff::default();
        let pauses: Vec<u128> = (0..8).map(|_| backoff.after(false).as_millis()).collect();
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000, 10_000]);
        assert_eq!(backoff.after(true).as_millis(), 500);
        assert_eq!(backoff.after(false).as_millis(), 500);
    }

    /// S18: reading ahead for nothing waits twice as long each time, until another leads.
    #[test]
    fn reading_in_vain_comes_slower() {
        let mut backoff = ReadAheadBackoff::default();
        for wait in [6_000, 12_000, 24_000] {
            assert!(backoff.allows(1, Timestamp(100_000)));
            backoff.was_in_vain(Millis(3_000), Timestamp(0));
            assert!(!backoff.allows(1, Timestamp(wait - 1)) && backoff.allows(1, Timestamp(wait)));
        }
        assert!(backoff.allows(2, Timestamp(0)), "another leads");
        (0..99).for_each(|_| backoff.was_in_vain(Millis(3_000), Timestamp(0)));
        assert!(backoff.allows(2, Timestamp(192_000)));
    }
}
