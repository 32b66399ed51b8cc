//! What is due when. A timer is a hint: whoever it wakes looks at the state before it decides.

use super::{LaneIx, WorkerIx};
use alloc::collections::BTreeSet;
use muster_model::Timestamp;

/// What to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// Is this worker silent (N15), a lease of it due (Q9, Q14, N15b), its pause over (N17)?
    Worker(WorkerIx),
    /// May this job hand out again to this worker (N2)?
    Redelivery(WorkerIx),
    /// Has this lane been away too long (Q6)?
    Lane(LaneIx),
    /// Has this job waited long enough for a device (Q6)?
    Job(u64),
    /// Which lanes long away must this job skip, from this one on (Q6)?
    Skip(u64, LaneIx),
}

/// All timers, soonest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers(BTreeSet<(Timestamp, Timer)>);

impl Timers {
    pub(crate) fn set(&mut self, at: Timestamp, timer: Timer) {
        self.0.insert((at, timer));
    }

    pub(crate) fn clear(&mut self, at: Timestamp, timer: Timer) {
        self.0.remove(&(at, timer));
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.0.first().map(|(at, _)| *at)
    }

    pub(crate) fn pop_due(&mut self, now: Timestamp) -> Option<Timer> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first().map(|(_, timer)| timer)
    }
}
