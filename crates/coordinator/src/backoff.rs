//! Backoff of a server after terms and read-aheads that were in vain.

use muster_model::{Millis, Timestamp};
use std::time::Duration;

/// After terms in which nothing could be written: each costs an epoch, and a full disk is full for a while.
#[derive(Default)]
pub(crate) struct TermBackoff {
    in_vain: u32,
    /// Another's term, and since when it is seen.
    other: Option<(u64, Timestamp)>,
}

impl TermBackoff {
    /// Pause before the next term, after one that failed.
    pub(crate) fn after(&mut self, was_of_use: bool) -> Duration {
        self.other = None;
        self.in_vain = if was_of_use { 0 } else { self.in_vain.saturating_add(1) };
        let doublings = self.in_vain.saturating_sub(1).min(DOUBLINGS_MAX);
        (RETRY_TERM_AFTER * (1 << doublings)).min(RETRY_TERM_MAX)
    }

    /// Another leads. Once that lasts, what kept this server from writing is over; servers that replace each other before
    /// anything is written are no such sign.
    pub(crate) fn saw_other(&mut self, epoch: u64, now: Timestamp) {
        let (_, since) =
            *self.other.insert(self.other.filter(|other| other.0 == epoch).unwrap_or((epoch, now)));
        if u128::try_from((now - since).0).is_ok_and(|lasts| lasts > RETRY_TERM_MAX.as_millis()) {
            self.in_vain = 0;
        }
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
    /// True if it is worth reading ahead while the leader of a term is silent.
    pub(crate) fn allows(&mut self, epoch: u64, now: Timestamp) -> bool {
        if self.epoch != epoch {
            *self = Self { epoch, ..Self::default() };
        }
        self.not_before.is_none_or(|not_before| now >= not_before)
    }

    /// Notes that a read-ahead was of no use.
    pub(crate) fn was_in_vain(&mut self, lease: Millis, now: Timestamp) {
        self.in_vain = self.in_vain.saturating_add(1);
        self.not_before = Some(now + Millis(lease.0 << self.in_vain.min(DOUBLINGS_MAX)));
    }
}

/// Shortest pause after a term that failed.
pub(crate) const RETRY_TERM_AFTER: Duration = Duration::from_millis(500);

/// The longest that no term is begun; one that lasts longer than this was none in vain.
pub(crate) const RETRY_TERM_MAX: Duration = Duration::from_secs(10);
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

    /// S18: whoever sees another lead for a while begins anew; two that fail by turns do not.
    #[test]
    fn a_term_of_another_that_lasts_is_a_good_sign() {
        let mut backoff = TermBackoff::default();
        for (epoch, pause) in (1..).zip([500, 1_000, 2_000, 4_000]) {
            assert_eq!(backoff.after(false).as_millis(), pause);
            backoff.saw_other(epoch, Timestamp(0));
            backoff.saw_other(epoch, Timestamp(9_000));
            backoff.saw_other(epoch + 100, Timestamp(18_000));
        }
        backoff.saw_other(9, Timestamp(20_000));
        backoff.saw_other(9, Timestamp(30_001));
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
