//! For how long a leader may take itself for one (S18). Pure, as [`crate::Watch`] is.

use crate::LeaseTimes;
use muster_model::{Millis, Timestamp};

/// The lease of a leader, by its own clock.
///
/// Everything counts from when a sign of life was *sent*: others begin to count its silence when they first see it,
/// which is later.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    times: LeaseTimes,
    /// When the last sign of life that the store has confirmed was sent.
    shown_at: Timestamp,
    next: Timestamp,
}

impl Lease {
    /// The lease of a term that the store gave when asked for it at `sent`.
    #[must_use]
    pub fn taken(times: LeaseTimes, sent: Timestamp) -> Self {
        Self { times, shown_at: sent, next: sent + times.renew_every() }
    }

    /// When to show life next.
    #[must_use]
    pub fn next_renewal(&self) -> Timestamp {
        self.next
    }

    /// The store confirmed a sign of life that was sent at `sent`.
    pub fn renewed(&mut self, sent: Timestamp) {
        self.shown_at = self.shown_at.max(sent);
        self.next = sent + self.times.renew_every();
    }

    /// A sign of life failed: the next one follows soon.
    pub fn failed(&mut self, now: Timestamp) {
        self.next = now + self.times.look_every();
    }

    /// Until when nobody else can lead, not even somebody who sees its connection gone and waits no longer than
    /// [`LeaseTimes::reconnect`], by a clock that runs faster than this one. Until then what memory says is the truth;
    /// later the store must be asked.
    #[must_use]
    pub fn sole_until(&self) -> Timestamp {
        let span = self.times.reconnect().min(self.times.lease).0;
        self.shown_at + Millis(span - span / RATES_APART)
    }

    /// True if nobody else can lead now.
    #[must_use]
    pub fn is_sole(&self, now: Timestamp) -> bool {
        now < self.sole_until()
    }

    /// True if others may take it for gone by now. That ends nothing by itself: whoever was stopped for a while and
    /// then shows life before anybody noticed leads on. If that fails, the term is over.
    #[must_use]
    pub fn has_run_out(&self, now: Timestamp) -> bool {
        now >= self.shown_at + self.times.lease
    }
}

/// Clocks that only run forward are set right as they run; two of them are apart by far less than a thirtieth.
const RATES_APART: i64 = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Step, Watch};
    use muster_store::{Candidate, Standing};

    const TIMES: LeaseTimes = LeaseTimes { lease: Millis(3_000) };

    /// S18: a leader shows life several times per lease, sooner after a failure, and counts from what was confirmed.
    #[test]
    fn a_lease_counts_from_the_last_confirmed_sign_of_life() {
        let mut lease = Lease::taken(TIMES, Timestamp(1_000));
        assert_eq!(lease.next_renewal(), Timestamp(1_500));
        lease.renewed(Timestamp(1_500));
        assert_eq!((lease.next_renewal(), lease.sole_until()), (Timestamp(2_000), Timestamp(2_950)));
        lease.failed(Timestamp(2_400));
        assert_eq!((lease.next_renewal(), lease.sole_until()), (Timestamp(2_650), Timestamp(2_950)));
        assert!(lease.is_sole(Timestamp(2_949)) && !lease.is_sole(Timestamp(2_950)));
        assert!(!lease.has_run_out(Timestamp(4_499)) && lease.has_run_out(Timestamp(4_500)));
    }

    /// S18: a sign of life after a long stop makes the lease good again.
    #[test]
    fn a_stall_that_nobody_noticed_ends_nothing() {
        let mut lease = Lease::taken(TIMES, Timestamp(0));
        assert!(lease.has_run_out(Timestamp(10_000)));
        lease.renewed(Timestamp(10_000));
        assert!(lease.is_sole(Timestamp(10_000)) && !lease.has_run_out(Timestamp(12_999)));
    }

    /// S18, invariant 10: whenever a watcher takes over, however it looked and whether the connection was seen to be
    /// gone, the leader had stopped to answer from memory before; also if the watcher's clock runs faster by a hundredth.
    #[test]
    fn nobody_takes_over_while_the_leader_is_sole() {
        for (looks_every, cut_at) in
            [(1, None), (250, None), (333, Some(1)), (250, Some(700)), (7, Some(1_400))]
        {
            let lease = Lease::taken(TIMES, Timestamp(0));
            let mut watch = Watch::new(TIMES);
            // Seen as soon as it was sent: nobody can be quicker.
            let looks = (0..).map(|count| count * looks_every);
            let fast = |now: Timestamp| now + Millis(now.0 / 100);
            let mut saw = |now| watch.saw(&standing(cut_at, now), fast(now), fast(now));
            let taken = looks.map(Timestamp).find(|now| saw(*now) == Step::Take);
            let taken = taken.expect("a silent leader is replaced");
            assert!(
                !lease.is_sole(taken),
                "looks every {looks_every}, cut at {cut_at:?}, taken at {taken:?}"
            );
        }
    }

    fn standing(cut_at: Option<i64>, now: Timestamp) -> Standing {
        let leader = Candidate { node: "a".into(), address: "http://a:1".into() };
        let connected = cut_at.is_none_or(|at| now.0 < at);
        Standing { epoch: 1, renewals: 7, leader: Some(leader), connected }
    }
}
