//! N20: when an event is tried again, and when the agent is degraded.

use muster_model::{Millis, Timestamp};
use muster_worker_kit::Backoff;

/// What the agent believes about the way to its backend.
#[derive(Clone, Debug, Default)]
pub(super) struct Link {
    /// Failures since the last event that was answered.
    tries: u32,
    /// While in doubt: no event leaves before this.
    not_before: Timestamp,
    failed_at: Option<Timestamp>,
    /// The last event that must be taken before new work is: the backend hears first what it missed.
    recover_until: Option<u64>,
}

impl Link {
    /// Whether one event at a time is tried, until one is answered.
    pub(super) const fn is_in_doubt(&self) -> bool {
        self.tries > 0
    }

    pub(super) const fn is_degraded(&self) -> bool {
        self.tries >= TRIES_UNTIL_DEGRADED
    }

    pub(super) const fn is_recovering(&self) -> bool {
        self.recover_until.is_some()
    }

    /// When the next event may leave.
    pub(super) const fn opens_at(&self) -> Timestamp {
        self.not_before
    }

    /// An event was answered; `last` is the newest one in the spool.
    pub(super) fn answered(&mut self, last: u64) {
        if self.is_degraded() {
            self.recover_until = Some(last);
        }
        self.tries = 0;
        self.failed_at = None;
        self.not_before = Timestamp::default();
    }

    /// An event that left at `sent_at` was not answered. Those that left together fail together: that is one failure.
    pub(super) fn failed(&mut self, sent_at: Timestamp, retry_after: Option<Millis>, now: Timestamp) {
        if self.failed_at.is_some_and(|failed_at| sent_at < failed_at) {
            return;
        }
        self.tries = self.tries.saturating_add(1);
        self.failed_at = Some(now);
        self.not_before = now + BACKOFF.patience(self.tries, retry_after);
    }

    /// The backend answers pulls again: an event is tried at once.
    pub(super) fn look_again(&mut self, now: Timestamp) {
        self.not_before = self.not_before.min(now);
    }

    /// The oldest event in the spool is now this one, or there is none.
    pub(super) fn drained_to(&mut self, oldest: Option<u64>) {
        self.recover_until = self.recover_until.filter(|last| oldest.is_some_and(|oldest| oldest <= *last));
    }
}

/// The contract's schedule.
pub(super) const BACKOFF: Backoff = Backoff {
    delays_ms: &[1_000, 1_000, 2_000, 5_000, 10_000],
    delay_ms_max: 30_000,
    retry_after_ms_max: 60_000,
};
const TRIES_UNTIL_DEGRADED: u32 = 7;

#[cfg(test)]
mod tests {
    use super::*;

    /// N20: 1, 2, 5, 10, 30, 30 seconds, for ever 30; degraded after the seventh try.
    #[test]
    fn the_schedule_is_the_contracts() {
        let mut link = Link::default();
        let mut now = Timestamp(0);
        let mut waits = Vec::new();
        for _ in 0..8 {
            assert_eq!(link.is_degraded(), waits.len() >= 7);
            link.failed(now, None, now);
            waits.push((link.opens_at() - now).0 / 1000);
            now = link.opens_at();
        }
        assert_eq!(waits, [1, 2, 5, 10, 30, 30, 30, 30]);
        assert!(link.is_degraded());
        link.answered(9);
        assert!(!link.is_degraded() && link.is_recovering());
        link.drained_to(Some(9));
        assert!(link.is_recovering());
        link.drained_to(Some(10));
        assert!(!link.is_recovering());
    }

    /// N20: events that left together and found nobody are one try.
    #[test]
    fn what_left_together_fails_together() {
        let mut link = Link::default();
        for _ in 0..20 {
            link.failed(Timestamp(0), None, Timestamp(50));
        }
        assert_eq!(link.tries, 1);
        link.look_again(Timestamp(60));
        assert_eq!(link.opens_at(), Timestamp(60));
    }
}
